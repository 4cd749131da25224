/* gate_stale.h - has a standby answer what only reads, while no server can be written to. For gate*.c only. */
#ifndef ROTA_GATE_STALE_H
#define ROTA_GATE_STALE_H

#include "jobmgr/gate/gate_call.h"

/* Take the member stale_ok out of a request of a route with GATE_STALE. Note whether the request is to be answered by a standby: if it
 * agrees, and no server can be written to. */
void gate_stale_take(struct gate_call *c);

/* Have it answered. */
void gate_stale(struct gate_call *c);

#endif
