/* gate_forward.h - credentials that a submission takes along. For gate*.c only. */
#ifndef ROTA_GATE_FORWARD_H
#define ROTA_GATE_FORWARD_H

#include "jobmgr/gate/gate_call.h"

/* Take the names of the credentials that a job's plan wants taken along out of the plan, and add them to a list. */
void gate_forward_take(json_t *plan, json_t *names);

/* Has the client uploaded these credentials for this submission? If not, the request is ended: with {"forward": [...]}, which has the
 * client upload them and submit again, or with an error if the client did not say that it can. */
bool gate_forward_done(struct gate_call *c, const json_t *names);

#endif
