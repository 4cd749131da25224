/* gate_token.h - tokens for the owners of running steps, who connect to step managers from other machines. For gate*.c only. */
#ifndef ROTA_GATE_TOKEN_H
#define ROTA_GATE_TOKEN_H

#include "jobmgr/gate/gate_call.h"

/* Carry out a request whose route has GATE_TOKEN: {"job_id": 812, "step_id": 0, "attempt": 1}. The answer is that of
 * api.step_token and, once the step manager listens, the signed token. */
void gate_token(struct gate_call *c);

#endif
