/* gate_grant.h - signs grants of credentials. For gate*.c only. */
#ifndef ROTA_GATE_GRANT_H
#define ROTA_GATE_GRANT_H

#include "jobmgr/gate/gate_call.h"

/* Carry out a request whose route has GATE_GRANT: the client's user grants another user the use of a credential. */
void gate_grant(struct gate_call *c);

#endif
