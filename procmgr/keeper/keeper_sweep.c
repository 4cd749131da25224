/* keeper_sweep.c - nothing of a step stays behind.
 *
 * Called by the keeper's sequence and control. With a control group, whatever is in it is the step's: also what went into a namespace of
 * processes that is not below the keeper, and became an orphan there. Without one, the keeper is
 * a subreaper: whatever a task leaves behind becomes its child, so every process of the step stands below the keeper, in
 * whichever session; and where it has no child, there is none. What always holds: nobody is killed who is not in the group or below the keeper. */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/clock.h"
#include "procmgr/keeper/below.h"
#include "procmgr/keeper/keeper_parts.h"

enum { LONGEST_USEC = 60 * 1000000, PAUSE_USEC = 5000, PAUSE_LONGEST = 200000 };

static bool is_child(const struct below_process *p, void *arg)
{
	(void)arg;
	return p->parent == getpid();
}

void keeper_sweep_signal(const struct keeper *k, int signal)
{
	keeper_sweep_signal_but(k, signal, 0);
}

struct others {
	int signal;
	pid_t but;
};

static void signal_other(const struct below_process *p, void *arg)
{
	const struct others *o = arg;
	if (p->pid != o->but)
		kill(p->pid, o->signal);
}

void keeper_sweep_signal_but(const struct keeper *k, int signal, pid_t but)
{
	struct others others = {signal, but};
	if (k->fence)
		fence_signal(k->fence, k->name, signal, but);
	else
		below_each(is_child, NULL, k->owner.uid, signal_other, &others);
}

void keeper_sweep_freeze(struct keeper *k, bool frozen)
{
	if (!k->fence || !fence_freeze(k->fence, k->name, frozen))
		keeper_sweep_signal(k, frozen ? SIGSTOP : SIGCONT);
	k->suspended = frozen;
}

void keeper_sweep_kill(const struct keeper *k)
{
	if (k->fence)
		fence_kill(k->fence, k->name);
	else
		below_kill(is_child, NULL, k->owner.uid);
}

static bool have_children(void)
{
	siginfo_t info;
	return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

/* Kill what is in the group, having told what is known: it may take a moment. */
static bool left_in_fence(struct keeper *k)
{
	if (fence_is_empty(k->fence, k->name))
		return false;
	keeper_record_flush(k);
	return fence_kill(k->fence, k->name);
}

/* Is there still something of the user's? It has been killed then, but may not have died yet. */
static bool left_of_user(struct keeper *k)
{
	return k->fence ? left_in_fence(k) : have_children() && below_kill(is_child, NULL, k->owner.uid);
}

static bool left_at_all(struct keeper *k)
{
	bool fenced = k->fence && !k->clean && left_in_fence(k);
	if (!have_children())
		return fenced;
	keeper_record_flush(k);
	below_kill(is_child, NULL, BELOW_ANYBODY);
	return true;
}

static bool never(const struct keeper *k)
{
	(void)k;
	return false;
}

static bool sweep(struct keeper *k, bool (*left)(struct keeper *k))
{
	int64_t deadline = clock_boot_us() + LONGEST_USEC, pause = PAUSE_USEC;
	if (have_children())
		keeper_wait(k, never, clock_boot_us()); /* reaps what has ended already */
	while (left(k)) {
		if (clock_boot_us() >= deadline)
			return false;
		keeper_wait(k, never, clock_boot_us() + pause);
		pause = pause * 2 < PAUSE_LONGEST ? pause * 2 : PAUSE_LONGEST;
	}
	return true;
}

bool keeper_sweep_user(struct keeper *k)
{
	k->clean = k->clean || sweep(k, left_of_user);
	return k->clean;
}

bool keeper_sweep_all(struct keeper *k)
{
	return sweep(k, left_at_all);
}
