/* lead_group.c - the prolog owners of job groups that a scheduling cycle chooses, in addition to those in the database.
 *
 * Called by: lead_order.c, for each node of each start.
 * Invariants:
 *  - On each node, at most one start of a cycle becomes the owner of a group's prolog. No start does if the group already has
 *    an owner on the node. */
#include "jobmgr/lead/lead_group.h"

#include <stdlib.h>
#include <string.h>

#include "lib/err.h"

struct owner {
	int64_t job;
	const char *group;
	int node_id;
};

struct lead_groups {
	struct owner *owners;
	size_t count;
};

struct lead_groups *lead_groups_new(void)
{
	return xcalloc(1, sizeof(struct lead_groups));
}

void lead_groups_free(struct lead_groups *groups)
{
	if (!groups)
		return;
	free(groups->owners);
	free(groups);
}

/* Did the job group have a prolog owner on the node before this scheduling cycle? */
static bool group_has_owner(const struct lead_launch *launch, int node_id)
{
	for (size_t i = 0; i < launch->group_node_count; i++) {
		if (launch->group_nodes[i] == node_id)
			return true;
	}
	return false;
}

bool lead_group_gets_owner(const struct lead_groups *groups, const struct lead_launch *launch, int node_id)
{
	for (size_t i = 0; launch->group_name && i < groups->count; i++) {
		const struct owner *h = &groups->owners[i];

		if (h->job == launch->job_id && h->node_id == node_id && strcmp(h->group, launch->group_name) == 0)
			return true;
	}
	return false;
}

bool lead_group_take_prolog(struct lead_groups *groups, const struct lead_launch *launch, int node_id)
{
	if (!launch->group_name)
		return true;
	if (group_has_owner(launch, node_id) || lead_group_gets_owner(groups, launch, node_id))
		return false;
	groups->owners = xrealloc(groups->owners, (groups->count + 1) * sizeof *groups->owners);
	groups->owners[groups->count++] = (struct owner){launch->job_id, launch->group_name, node_id};
	return true;
}
