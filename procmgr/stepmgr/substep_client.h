/* substep_client.h - serves the step protocol to programs of the job (docs/step-protocol.md). */
#ifndef ROTA_PROCMGR_SUBSTEP_CLIENT_H
#define ROTA_PROCMGR_SUBSTEP_CLIENT_H

#include <event2/bufferevent.h>

#include "procmgr/stepmgr/substep_engine.h"

struct substep_server;

/* The functions by which the engine reports to clients. */
extern const struct substep_handlers substep_client_handlers;

/* Call in an agent. Serves the step manager of the step's first node as a client, on `stream`, which it takes. `gone` is called
 * when the connection has ended. */
void substep_client_take_head(struct bufferevent *stream, void (*gone)(void));

/* Accept connections on the listening socket, and serve them. If `relay` is not NULL, give it the stream of each connection
 * instead. There is one server in a process. */
void substep_client_serve(struct event_base *base, struct substep_engine *m, int listener,
			  void (*relay)(struct bufferevent *stream));

#endif
