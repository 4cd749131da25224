/* lead_group.h - which start of a cycle runs the prolog of its job group on a node. */
#ifndef ROTA_LEAD_GROUP_H
#define ROTA_LEAD_GROUP_H

#include <stdbool.h>

#include "jobmgr/lead/lead_load.h"

struct lead_groups;

struct lead_groups *lead_groups_new(void);
void lead_groups_free(struct lead_groups *groups);

/* Has another start of this scheduling cycle become the prolog owner of the step's job group on this node? */
bool lead_group_gets_owner(const struct lead_groups *groups, const struct lead_launch *launch, int node_id);

/* Do prolog and epilog run with this step on this node? Returns true if the step has no job group. Returns true also for the
 * first step of a job group on the node, which becomes the prolog owner. */
bool lead_group_take_prolog(struct lead_groups *groups, const struct lead_launch *launch, int node_id);

#endif
