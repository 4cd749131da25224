/* agent_inventory.h - lists the attempts on this node, for a registration. */
#ifndef ROTA_PROCMGR_AGENT_INVENTORY_H
#define ROTA_PROCMGR_AGENT_INVENTORY_H

#include <jansson.h>

#include "procmgr/agent/agent_report.h"

/* Add the list of attempts to the facts of the node. If the attempts cannot be read, the list is left out, and the database ends
 * no attempt for its absence. */
void agent_inventory_add(const struct agent_report *report, json_t *node);

#endif
