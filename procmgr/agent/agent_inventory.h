/* agent_inventory.h - which attempts are on this node, for a registration. */
#ifndef ROTA_PROCMGR_AGENT_INVENTORY_H
#define ROTA_PROCMGR_AGENT_INVENTORY_H

#include <jansson.h>

#include "procmgr/agent/agent_report.h"

/* Add the attempts to the facts of the node. Where they cannot be read, nothing is added, and the database concludes nothing. */
void agent_inventory_add(const struct agent_report *report, json_t *node);

#endif
