/* substep_request.h - the requests of the step protocol (docs/step-protocol.md). */
#ifndef ROTA_PROCMGR_SUBSTEP_REQUEST_H
#define ROTA_PROCMGR_SUBSTEP_REQUEST_H

#include "procmgr/stepmgr/substep_connection.h"
#include "procmgr/stepmgr/substep_engine.h"

/* Handle a whole message of a client, and answer it. `bytes` belong to the message. Returns false if the journal has no room for
 * a record: then the connection is held, and the caller passes the message again later. */
bool substep_request_take(struct substep_engine *m, struct substep_connection *c, json_t *request, const void *bytes,
			  size_t size);

#endif
