/* gate_wait.h - long polls: requests that are answered when there is something to report. For the files of the API only. */
#ifndef ROTA_GATE_WAIT_H
#define ROTA_GATE_WAIT_H

#include "jobmgr/gate/gate_call.h"

/* Make the list of all long polls of the server. */
struct gate_waits *gate_waits_new(void);

/* Free the list of long polls. Called after all requests are freed. */
void gate_waits_free(struct gate_waits *waits);

/* Carry out a long poll: a request whose route has GATE_WAIT. */
void gate_wait(struct gate_call *c);

/* Handle a notification from PostgreSQL: each long poll queries the database again as soon as it may. */
void gate_waits_notify(struct gate_waits *waits);

/* Have each long poll query the database once more, and answer with the result, final or not. */
void gate_waits_release(struct gate_waits *waits);

#endif
