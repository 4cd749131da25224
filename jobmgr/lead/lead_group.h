/* lead_group.h - who runs the prolog of a job group on a node, among the starts of one pass. */
#ifndef ROTA_LEAD_GROUP_H
#define ROTA_LEAD_GROUP_H

#include <stdbool.h>

#include "jobmgr/lead/lead_load.h"

struct lead_groups;

struct lead_groups *lead_groups_new(void);
void lead_groups_free(struct lead_groups *groups);

/* Whether another start of this pass becomes the holder of the step's group on this node. */
bool lead_group_gets_owner(const struct lead_groups *groups, const struct lead_launch *launch, int node_id);

/* Whether prolog and epilog run with this step on this node: it has no group, or is the group's first one there. */
bool lead_group_take_prolog(struct lead_groups *groups, const struct lead_launch *launch, int node_id);

#endif
