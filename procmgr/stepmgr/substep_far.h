/* substep_far.h - connections to terminals on other nodes, each of which the agent of the node opens when it is asked to. */
#ifndef ROTA_PROCMGR_SUBSTEP_FAR_H
#define ROTA_PROCMGR_SUBSTEP_FAR_H

#include "procmgr/stepmgr/substep_engine.h"
#include "procmgr/stepmgr/substep_terminal.h"

struct substep_far_handlers {
	/* called with the connection on which the terminal sends its frames; takes the connection */
	void (*opened)(struct bufferevent *stream, void *arg);
	void (*lost)(void *arg); /* called when no connection to the terminal will be made any more */
};

/* Ask for a connection to the terminal of a running sub-step whose only part is on another node. */
struct substep_far *substep_far_new(struct substep *s, const struct substep_view *view,
				    const struct substep_far_handlers *handlers, void *arg);
void substep_far_free(struct substep_far *f); /* NULL: nothing is done */

/* Call when the connection broke: asks the agent for another one soon. Returns false if the sub-step does not run any more. */
bool substep_far_again(struct substep_far *f);

/* Call when the agent of a node has opened the connection `number`; takes the stream. Closes it if no viewer waits for that
 * number. */
void substep_far_take(int node, int64_t number, struct bufferevent *stream);

/* Call when the agent of a node is connected again: asks it once more for the connections that viewers wait for. */
void substep_far_ask(int node);

/* Call when the node with the terminal of the sub-step is lost: no connection to it is awaited any more. */
void substep_far_lose(const struct substep *s);

#endif
