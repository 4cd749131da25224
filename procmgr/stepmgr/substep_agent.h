/* substep_agent.h - this process is an agent: the step manager of the step's first node says what it runs. */
#ifndef ROTA_PROCMGR_SUBSTEP_AGENT_H
#define ROTA_PROCMGR_SUBSTEP_AGENT_H

#include <event2/bufferevent.h>
#include <stdbool.h>

/* Connect to the step manager that $ROTA_STEP_HEAD names, and serve it. Returns false if there is no such variable: this process is the
 * step manager. */
bool substep_agent_open(struct event_base *base);

/* Pass on what a program of this node and the step manager say to each other; takes the stream. */
void substep_agent_relay(struct bufferevent *stream);

#endif
