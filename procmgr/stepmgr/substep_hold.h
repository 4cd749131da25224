/* substep_hold.h - tells the program that keeps an allocation when it is not used any more. */
#ifndef ROTA_PROCMGR_SUBSTEP_HOLD_H
#define ROTA_PROCMGR_SUBSTEP_HOLD_H

#include "procmgr/stepmgr/substep_connection.h"
#include "procmgr/stepmgr/substep_engine.h"

/* Take the request `hold` of a client, to answer it when the allocation is not used any more. Returns false if another client has
 * sent such a request. */
bool substep_hold_begin(struct substep_engine *m, struct substep_connection *c, json_int_t id);

/* Call when a client has connected or gone, or a sub-step has ended. `clients`: number of connections, with that of the client
 * that sent `hold`. */
void substep_hold_check(int clients);
void substep_hold_forget(const struct substep_connection *c); /* the connection ends */

#endif
