/* gate_seen.h - refuses clients that have seen a newer incarnation of the database than this one. For gate*.c only. */
#ifndef ROTA_GATE_SEEN_H
#define ROTA_GATE_SEEN_H

#include "jobmgr/gate/gate_call.h"

/* Has the client seen another incarnation than this jobmgrd works with, and can the database be asked about it? */
bool gate_seen_differs(const struct gate_call *c);

/* Ask the database. `then` is called if it does not lack that incarnation; otherwise the request is refused. */
void gate_seen_ask(struct gate_call *c, void (*then)(struct gate_call *c));

#endif
