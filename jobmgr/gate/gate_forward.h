/* gate_forward.h - credentials that the client adds with a submission. For gate*.c only. */
#ifndef ROTA_GATE_FORWARD_H
#define ROTA_GATE_FORWARD_H

#include "jobmgr/gate/gate_call.h"

/* Move the names of the credentials that the client is to upload from a job's plan to the list `names`. */
void gate_forward_take(json_t *plan, json_t *names);

/* Has the client uploaded these credentials for this submission? If not, the request is ended: with {"forward": [...]},
 * whereupon the client uploads them and submits again, or with an error if the request has no member "forwarded". */
bool gate_forward_done(struct gate_call *c, const json_t *names);

#endif
