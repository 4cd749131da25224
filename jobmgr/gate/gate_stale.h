/* gate_stale.h - has a standby server answer requests that only read, while no server can be written to. For gate*.c only. */
#ifndef ROTA_GATE_STALE_H
#define ROTA_GATE_STALE_H

#include "jobmgr/gate/gate_call.h"

/* Remove the member stale_ok from a request of a route with GATE_STALE. Set c->is_stale if a standby is to answer the request:
 * if stale_ok was true, and no server can be written to. */
void gate_stale_take(struct gate_call *c);

/* Have a standby answer a request with c->is_stale. */
void gate_stale(struct gate_call *c);

#endif
