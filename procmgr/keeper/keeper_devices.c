/* keeper_devices.c - has the programs of a step leave its GPUs while the step is suspended (docs/checkpointing.md).
 *
 * Called by: keeper_control.c.
 * Invariants:
 * - rota-checkpoint runs as the user in the step's cgroup, before the processes are stopped and after they continue.
 * - If programs cannot leave the GPUs, the step is suspended with its memory on them.
 * - GPUs are reported as free only if no stopped process has one open. With launcher.devices = granted, the step's cgroup no longer
 *   lets it open one. The keeper checks this itself, since rota-checkpoint runs as the user.
 * - Programs do not return to GPUs that were reported as free before the database has given these to the step again. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "lib/clock.h"
#include "lib/daemon.h"
#include "lib/log.h"
#include "procmgr/keeper/device_users.h"
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
	struct task_facts facts = keeper_place_facts(k, -1);
	facts.credentials = k->delivered;
	facts.tmpdir = k->tmpdir;
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

/* Has the process ended, and been reaped, that moves programs back to the GPUs? */
static bool has_returned(const struct keeper *k)
{
	siginfo_t info;
	return k->devices_return == 0 || waitid(P_PID, (id_t)k->devices_return, &info, WEXITED | WNOHANG | WNOWAIT) < 0;
}

bool keeper_devices_leave(struct keeper *k)
{
	struct task_start start;
	/* Two processes that toggle the same program at once would leave it in either state. */
	if (!keeper_wait(k, has_returned, clock_boot_us() + (int64_t)LEAVE_S * 1000000)) {
		log_warning("attempt %s: its programs still return to the GPUs, so it is suspended with its memory on them",
			    k->name);
		return false;
	}
	k->devices_return = 0;
	if (!has_gpus(k) || !prepare_devices(k, "suspend", &start))
		return false;
	k->devices_left = true; /* also after a failure, since a program may have left its GPU and not returned */
	bool left = keeper_hook_unrecorded(k, &start, LEAVE_S);
	if (!left)
		log_warning("attempt %s: cuda-checkpoint did not free the GPUs, so the step is suspended with its memory on them",
			    k->name);
	free((void *)start.path);
	keeper_hook_free(&start);
	return left;
}

/* Let the processes of the step use its devices but those of the set, if launcher.devices restricts them. */
static bool change_devices(const struct keeper *k, const struct device_set *without, struct err *e)
{
	struct device list[DEVICES_MOST];
	if (strcmp(k->job->conf->launcher_devices, "granted") != 0)
		return true;
	int count = devices_granted(k->job->conf->launcher_device_files, k->order->gres, list, e);
	if (count < 0)
		return false;
	count = devices_remove(list, count, without->list, without->count);
	return cgroups_change_devices(k->cgroups, k->name, list, count, e);
}

/* Does a process of the step have one of the devices open? */
static bool devices_are_used(const struct keeper *k, const struct device_set *set)
{
	struct device_search *search = device_users_begin(set);
	bool used = keeper_sweep_has(k, device_users_has, &search);
	device_users_end(search);
	return used;
}

bool keeper_devices_close(struct keeper *k, int64_t at)
{
	struct device gpus[DEVICES_MOST];
	struct device_set none = {NULL, 0}, set = {gpus, 0};
	struct err e;
	set.count = devices_of_kind(k->job->conf->launcher_device_files, k->order->gres, "gpu", gpus, &e);
	bool known = set.count > 0 || (set.count == 0 && err_set(&e, "launcher.device_files names no file for them"));
	bool closed = known && change_devices(k, &set, &e);
	if (closed && !devices_are_used(k, &set)) {
		k->devices_free_at = at;
		return true;
	}
	log_warning("attempt %s keeps its GPUs while it is suspended: %s", k->name,
		    closed ? "a process has one open, or the kernel does not say" : e.message);
	if (known && !change_devices(k, &none, &e))
		log_warning("attempt %s: %s", k->name, e.message);
	return false;
}

bool keeper_devices_open(struct keeper *k, int64_t at)
{
	struct device_set none = {NULL, 0};
	struct err e;
	if (k->devices_free_at == 0)
		return true;
	if (k->devices_free_at != at) {
		log_warning("attempt %s stays suspended: its GPUs were given back at %" PRId64
			    ", and the message to resume names %" PRId64,
			    k->name, k->devices_free_at, at);
		return false;
	}
	if (!change_devices(k, &none, &e))
		log_warning("attempt %s: %s", k->name, e.message);
	k->devices_free_at = 0;
	return true;
}

void keeper_devices_poll(struct keeper *k)
{
	struct task_start start;
	if (!k->devices_left || k->devices_free_at > 0 || k->suspended || k->phase == KEEPER_DONE ||
	    !prepare_devices(k, "resume", &start))
		return;
	char *program = (char *)start.path;
	k->devices_left = false;
	if (keeper_hook_beside(k, &start, &k->devices_return))
		free(program);
}
