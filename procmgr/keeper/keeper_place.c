/* keeper_place.c - sets where a process of the user runs: folder, limits, user, cgroup and cores.
 *
 * Called by: keeper_task.c, keeper_hook.c and keeper_manager.c before they start such a process. */
#include "procmgr/keeper/keeper_parts.h"

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
