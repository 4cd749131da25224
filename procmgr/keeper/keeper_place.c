/* keeper_place.c - sets where a process of the user runs: folder, limits, user, cgroup and cores; and what its environment says of the
 * attempt.
 *
 * Called by: the other files of the keeper, before they start a program. */
#include "procmgr/keeper/keeper_parts.h"

struct task_facts keeper_place_facts(const struct keeper *k, int rank)
{
	return (struct task_facts){
		.order = k->order,
		.owner = &k->owner,
		.cluster = k->job->conf->instance_name,
		.tag = k->tag,
		.rank = rank,
		.node_file = k->node_file,
	};
}

void keeper_place_process(const struct keeper *k, struct task_start *start)
{
	start->folder = k->order->spec.workdir;
	start->umask = k->order->spec.umask;
	start->node = k->order->node;
	start->limits = k->limits;
	start->limit_count = k->limit_count;
	start->owner = &k->owner;
	start->cgroups = k->cgroups;
	start->key = k->name;
	start->pinned = k->job->cores != NULL;
	start->folders = *k->folders.path[0] ? &k->folders : NULL;
	start->cores = k->cores.count > 0 ? &k->cores.set : NULL;
}
