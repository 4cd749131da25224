/* substep_hold.h - tells the program that keeps an allocation when it is not used any more. */
#ifndef ROTA_PROCMGR_SUBSTEP_HOLD_H
#define ROTA_PROCMGR_SUBSTEP_HOLD_H

#include "procmgr/stepmgr/substep_connection.h"
#include "procmgr/stepmgr/substep_engine.h"

/* Answer the request of a client when the allocation is not used any more. Returns false if another client waits for that. */
bool substep_hold_begin(struct substep_engine *m, struct substep_connection *c, json_int_t id);

/* A client has connected, has gone or has seen a sub-step end. `clients`: number of connections, that of the holder included. */
void substep_hold_check(int clients);
void substep_hold_forget(const struct substep_connection *c); /* the connection ends */

#endif
