/* gate_wait.h - long polls: requests that are answered when there is something to report. For the files of the API only. */
#ifndef ROTA_GATE_WAIT_H
#define ROTA_GATE_WAIT_H

#include "jobmgr/gate/gate_call.h"

/* All long polls of the server. */
struct gate_waits *gate_waits_new(void);

/* After all calls are freed. */
void gate_waits_free(struct gate_waits *waits);

/* Carry out a request whose route has GATE_WAIT. */
void gate_wait(struct gate_call *c);

/* PostgreSQL sent a notification: each long poll polls again as soon as it may. */
void gate_waits_notify(struct gate_waits *waits);

/* Answer each long poll with what its next poll returns. */
void gate_waits_release(struct gate_waits *waits);

#endif
