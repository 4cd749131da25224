/* keeper_sweep.c - signals, stops and kills all processes of a step.
 *
 * Called by: keeper.c, keeper_ending.c, keeper_control.c, keeper_task.c, keeper_lease.c and keeper_checkpoint.c. With a cgroup, the
 * step's processes are those in the cgroup, even in another PID namespace. Without a cgroup, they are the keeper's descendants in
 * any session: the keeper is a subreaper, so every orphan becomes its child.
 * Invariants: with a cgroup, no process outside it is signalled, except by keeper_sweep_others(); that function, and all of them
 * without a cgroup, signal only descendants of the keeper. */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/clock.h"
#include "procmgr/keeper/descendants.h"
#include "procmgr/keeper/fuse_mounts.h"
#include "procmgr/keeper/keeper_parts.h"

enum { SWEEP_MOST_USEC = 60 * 1000000, PAUSE_USEC = 5000, PAUSE_MOST_USEC = 200000, FUSE_USEC = 1000000 };

void keeper_sweep_signal(const struct keeper *k, int signal)
{
	keeper_sweep_signal_others(k, signal, 0);
}

void keeper_sweep_signal_others(const struct keeper *k, int signal, pid_t but)
{
	if (k->cgroups)
		cgroups_signal(k->cgroups, k->name, signal, but);
	else
		descendants_signal(descendants_is_child, NULL, k->owner.uid, signal, but);
}

int keeper_sweep_signal_handlers(const struct keeper *k, int signal, pid_t but)
{
	return k->cgroups ? cgroups_signal_handlers(k->cgroups, k->name, signal, but)
			  : descendants_signal_handlers(descendants_is_child, NULL, k->owner.uid, signal, but);
}

bool keeper_sweep_has(const struct keeper *k, bool (*is_it)(pid_t thread, const void *arg), const void *arg)
{
	return k->cgroups ? cgroups_have_thread(k->cgroups, k->name, is_it, arg)
			  : descendants_have_thread(descendants_is_child, NULL, k->owner.uid, is_it, arg);
}

void keeper_sweep_freeze(struct keeper *k, bool frozen)
{
	if (!k->cgroups || !cgroups_freeze(k->cgroups, k->name, frozen))
		keeper_sweep_signal(k, frozen ? SIGSTOP : SIGCONT);
	k->suspended = frozen;
}

/* Called with each SIGKILL. Processes that are alive FUSE_USEC after the first SIGKILL may wait for a FUSE server that does not
 * answer, or may still be freeing much memory. Only a cgroup shows which of both; without one the FUSE connections are aborted in
 * either case. */
static void free_from_fuse(struct keeper *k)
{
	int64_t now = clock_boot_us();
	if (k->killed_at == 0)
		k->killed_at = now;
	else if (now - k->killed_at >= FUSE_USEC &&
		 (!k->cgroups || cgroups_have_thread(k->cgroups, k->name, fuse_mounts_hold, NULL)))
		fuse_mounts_abort(k->owner.uid);
}

void keeper_sweep_kill(struct keeper *k)
{
	free_from_fuse(k);
	if (k->cgroups)
		cgroups_kill(k->cgroups, k->name);
	else
		descendants_kill(descendants_is_child, NULL, k->owner.uid);
}

static bool has_children(void)
{
	siginfo_t info;
	return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

/* Kill the processes left in the cgroup. Buffered records are written first, since the kill may take a moment. */
static bool kill_left_in_cgroups(struct keeper *k)
{
	if (cgroups_are_empty(k->cgroups, k->name))
		return false;
	keeper_record_flush(k);
	return cgroups_kill(k->cgroups, k->name);
}

/* Kill the processes of the job's user that are left of this attempt: those in its cgroup, else descendants of this keeper.
 * Returns true if there was one; it may not be dead yet. */
static bool kill_left_of_user(struct keeper *k)
{
	return k->cgroups ? kill_left_in_cgroups(k)
			  : has_children() && descendants_kill(descendants_is_child, NULL, k->owner.uid);
}

static bool kill_left(struct keeper *k)
{
	bool any = k->cgroups && k->has_user_processes && kill_left_in_cgroups(k);
	if (!has_children())
		return any;
	keeper_record_flush(k);
	descendants_kill(descendants_is_child, NULL, DESCENDANTS_OF_ANY_USER);
	return true;
}

/* Children of the keeper that are spared, with their descendants. */
struct spared {
	bool (*is_spared)(const struct keeper *k, pid_t child);
	const struct keeper *k;
};

static bool is_other_child(const struct descendants_process *p, void *arg)
{
	const struct spared *spared = arg;
	return descendants_is_child(p, NULL) && !spared->is_spared(spared->k, p->pid);
}

static bool sweep_never(const struct keeper *k)
{
	(void)k;
	return false;
}

static bool kill_all(struct keeper *k, bool (*kill_some)(struct keeper *k))
{
	int64_t deadline = clock_boot_us() + SWEEP_MOST_USEC, pause = PAUSE_USEC;
	if (has_children())
		keeper_wait(k, sweep_never, clock_boot_us()); /* reap children that have already ended */
	while (kill_some(k)) {
		if (clock_boot_us() >= deadline)
			return false;
		free_from_fuse(k);
		keeper_wait(k, sweep_never, clock_boot_us() + pause);
		pause = pause * 2 < PAUSE_MOST_USEC ? pause * 2 : PAUSE_MOST_USEC;
	}
	k->killed_at = 0;
	return true;
}

void keeper_sweep_others(struct keeper *k, bool (*is_spared)(const struct keeper *k, pid_t child))
{
	struct spared spared = {is_spared, k};
	int64_t deadline = clock_boot_us() + SWEEP_MOST_USEC, pause = PAUSE_USEC;
	while (descendants_kill(is_other_child, &spared, k->owner.uid) && clock_boot_us() < deadline) {
		keeper_wait(k, sweep_never, clock_boot_us() + pause);
		pause = pause * 2 < PAUSE_MOST_USEC ? pause * 2 : PAUSE_MOST_USEC;
	}
}

void keeper_sweep_expect(struct keeper *k)
{
	k->has_user_processes = true;
}

bool keeper_sweep_user(struct keeper *k)
{
	k->has_user_processes = k->has_user_processes && !kill_all(k, kill_left_of_user);
	return !k->has_user_processes;
}

bool keeper_sweep_all(struct keeper *k)
{
	return kill_all(k, kill_left);
}
