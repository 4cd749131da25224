/* gate_seen.h - refuses clients that have seen an incarnation of the database that this one lacks. For gate*.c only. */
#ifndef ROTA_GATE_SEEN_H
#define ROTA_GATE_SEEN_H

#include "jobmgr/gate/gate_call.h"

/* Has the client seen another incarnation of the database than the present one, and can the database be queried about it? */
bool gate_seen_differs(const struct gate_call *c);

/* Query whether the database lacks the incarnation that the client has seen. If not, `then` is called; otherwise the request is
 * refused. */
void gate_seen_ask(struct gate_call *c, void (*then)(struct gate_call *c));

#endif
