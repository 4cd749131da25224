/* keeper_devices.c - has the programs of a step leave its GPUs while the step is suspended (docs/checkpointing.md).
 *
 * Called by: keeper_control.c.
 * Invariants:
 * - rota-checkpoint runs as the user in the step's cgroup, before the processes are stopped and after they continue.
 * - If programs cannot leave the GPUs, the step is suspended with its memory on them. */
#include <stdlib.h>

#include "lib/daemon.h"
#include "lib/log.h"
#include "procmgr/keeper/devices.h"
#include "procmgr/keeper/keeper_parts.h"

enum { LEAVE_S = 600 };

static bool has_gpus(const struct keeper *k)
{
	char *gpus = *k->job->conf->node_checkpoint_cuda ? devices_of_gres(k->order->gres, "gpu") : NULL;
	free(gpus);
	return gpus != NULL;
}

/* Fill `start` for a process of rota-checkpoint with `command`. Returns false if there is no such program. The caller frees
 * `start` with keeper_hook_free(). */
static bool prepare_devices(struct keeper *k, const char *command, struct task_start *start)
{
	struct err e;
	char *program = daemon_beside("rota-checkpoint", &e), **argv;
	struct task_facts facts = {k->order,	 &k->owner, k->job->conf->instance_name, k->tag, -1, k->node_file, NULL, NULL,
				   k->delivered, k->tmpdir};
	if (!program) {
		log_warning("attempt %s: %s", k->name, e.message);
		return false;
	}
	argv = xcalloc(5, sizeof *argv);
	argv[0] = program;
	argv[1] = (char *)k->job->conf->path;
	argv[2] = (char *)"devices";
	argv[3] = (char *)command;
	*start = (struct task_start){.path = program, .argv = argv};
	start->environment = task_environment(k->environment->bytes, k->environment->size, &facts);
	keeper_place_process(k, start);
	return true;
}

void keeper_devices_leave(struct keeper *k)
{
	struct task_start start;
	if (!has_gpus(k) || !prepare_devices(k, "suspend", &start))
		return;
	k->devices_left = true; /* also after a failure, since a program may have left its GPU and not returned */
	if (!keeper_hook_unrecorded(k, &start, LEAVE_S))
		log_warning("attempt %s: cuda-checkpoint did not free the GPUs, so the step is suspended with its memory on them",
			    k->name);
	free((void *)start.path);
	keeper_hook_free(&start);
}

void keeper_devices_poll(struct keeper *k)
{
	struct task_start start;
	if (!k->devices_left || k->suspended || k->phase == KEEPER_DONE || !prepare_devices(k, "resume", &start))
		return;
	char *program = (char *)start.path;
	k->devices_left = false;
	if (keeper_hook_beside(k, &start))
		free(program);
}
