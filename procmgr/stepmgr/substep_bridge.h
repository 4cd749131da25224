/* substep_bridge.h - joins a terminal of this node with a viewer of the step manager on the step's first node. */
#ifndef ROTA_PROCMGR_SUBSTEP_BRIDGE_H
#define ROTA_PROCMGR_SUBSTEP_BRIDGE_H

#include "procmgr/stepmgr/substep_engine.h"
#include "procmgr/stepmgr/substep_terminal.h"

/* Call in an agent. `connect`: function that begins to open the connection `number` to the step manager, or returns NULL if it
 * cannot. */
void substep_bridge_use(struct event_base *base, struct bufferevent *(*connect)(int64_t number));

/* Open the connection `number` to the step manager, and attach it to the terminal of the sub-step `s` as soon as the terminal
 * listens. If `s` is NULL, or its terminal has ended, the connection ends at once. */
void substep_bridge_open(const struct substep *s, const struct substep_view *view, int64_t number);

#endif
