/* substep_far.h - connections to terminals on other nodes, each of which the agent of the node opens when it is asked to. */
#ifndef ROTA_PROCMGR_SUBSTEP_FAR_H
#define ROTA_PROCMGR_SUBSTEP_FAR_H

#include "procmgr/stepmgr/substep_engine.h"
#include "procmgr/stepmgr/substep_terminal.h"

struct substep_far_handlers {
	/* called with the connection on which the terminal sends its frames; takes the connection */
	void (*opened)(struct bufferevent *stream, void *arg);
	void (*lost)(void *arg); /* no connection comes any more */
};

/* Ask for a connection to the terminal of a running sub-step whose only part is on another node. */
struct substep_far *substep_far_new(struct substep *s, const struct substep_view *view,
				    const struct substep_far_handlers *handlers, void *arg);
void substep_far_free(struct substep_far *f); /* NULL: nothing is done */

/* The connection broke: ask for another one, soon. Returns false if the sub-step does not run any more. */
bool substep_far_again(struct substep_far *f);

/* The agent of a node has opened the connection with this number; takes the stream. Nobody may want it any more. */
void substep_far_take(int node, int64_t number, struct bufferevent *stream);

/* The agent of a node is connected again: ask it for what it was asked for before. */
void substep_far_ask(int node);

/* The node of a sub-step is lost. */
void substep_far_lose(const struct substep *s);

#endif
