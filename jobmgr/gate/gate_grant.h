/* gate_grant.h - signs grants of credentials. For gate*.c only. */
#ifndef ROTA_GATE_GRANT_H
#define ROTA_GATE_GRANT_H

#include "jobmgr/gate/gate_call.h"

/* Carry out a request whose route has GATE_GRANT: let another user use a credential of the client's user. */
void gate_grant(struct gate_call *c);

#endif
