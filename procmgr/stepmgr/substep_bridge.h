/* substep_bridge.h - joins a terminal of this node with a viewer of the step manager on the step's first node. */
#ifndef ROTA_PROCMGR_SUBSTEP_BRIDGE_H
#define ROTA_PROCMGR_SUBSTEP_BRIDGE_H

#include "procmgr/stepmgr/substep_engine.h"
#include "procmgr/stepmgr/substep_terminal.h"

/* Connect to the step manager by this function, which begins to open the connection with a number; NULL if it cannot. This process is
 * an agent. */
void substep_bridge_use(struct event_base *base, struct bufferevent *(*connect)(int64_t number));

/* Open the connection with this number, and attach it to the terminal of a sub-step as soon as that listens. Without a sub-step, or if its
 * terminal has ended, the connection ends at once. */
void substep_bridge_open(const struct substep *s, const struct substep_view *view, int64_t number);

#endif
