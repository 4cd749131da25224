/* substep_agent.h - makes this process an agent, which runs what the step manager on the step's first node asks it to run. */
#ifndef ROTA_PROCMGR_SUBSTEP_AGENT_H
#define ROTA_PROCMGR_SUBSTEP_AGENT_H

#include <event2/bufferevent.h>
#include <stdbool.h>

/* Connect to the step manager that $ROTA_STEP_HEAD names, and serve it. Returns false if there is no such variable: this process is the
 * step manager. */
bool substep_agent_open(struct event_base *base);

/* Pass bytes on between `stream`, a connection of a program on this node, and the step manager; takes the stream. */
void substep_agent_relay(struct bufferevent *stream);

#endif
