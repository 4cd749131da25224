/* keeper_control.c - what control messages and the clocks do to a step.
 *
 * Called by the keeper's loop. Messages come from the launcher through the spool folder's socket, which only root (in a private
 * instance: the user) can write to. What always holds: an ending has one cause, the first; once asked for, SIGTERM, the grace
 * time and SIGKILL follow by themselves; the time limit does not run while the step is suspended. */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "lib/clock.h"
#include "lib/log.h"
#include "procmgr/keeper/keeper_parts.h"

enum { MESSAGE_SIZE = 4096 };
enum { LIMIT_ENDLESS = INT_MAX }; /* a limit of so many seconds is none */

/* The signal ahead of the limit moves with it. Where it was sent, it is sent again only for a limit that is later by more than it is ahead. */
static void set_warning(struct keeper *k)
{
	const struct order_spec *spec = &k->order->spec;
	int64_t at = k->limit_at - (int64_t)spec->signal_s * 1000000;
	bool sent = k->warned_at > 0 && at <= k->warned_at + k->paused - k->warned_paused;
	k->warn_at = spec->signal > 0 && k->limit_at > 0 && !sent ? (at > 0 ? at : 1) : 0;
}

void keeper_control_limit(struct keeper *k, int64_t limit_s)
{
	bool runs = k->live > 0 && !k->suspended && !*k->cause && limit_s > 0 && limit_s < LIMIT_ENDLESS;
	k->limit_s = limit_s;
	k->limit_at = runs ? k->tasks[0].started_at + limit_s * 1000000 + k->paused : 0;
	set_warning(k);
}

static void suspend(struct keeper *k)
{
	if (k->suspended || k->live == 0 || *k->cause)
		return;
	keeper_sweep_freeze(k, true);
	k->paused_at = clock_boot_us();
	keeper_control_limit(k, k->limit_s);
	keeper_record_plain(k, "suspended");
}

static void resume(struct keeper *k)
{
	if (!k->suspended)
		return;
	keeper_sweep_freeze(k, false);
	k->paused += clock_boot_us() - k->paused_at;
	keeper_control_limit(k, k->limit_s);
	keeper_record_plain(k, "resumed");
}

/* As Slurm: with B:, the batch shell alone; else what it runs, since a shell without a trap would end by the signal. A script that runs once for
 * each task stands for a task of srun. */
static void warn(struct keeper *k, int64_t now)
{
	const struct order_spec *spec = &k->order->spec;
	k->warn_at = 0;
	k->warned_at = now;
	k->warned_paused = k->paused;
	for (int i = 0; spec->signal_shell && i < k->task_count; i++)
		if (k->tasks[i].pid > 0)
			kill(k->tasks[i].pid, spec->signal);
	if (!spec->signal_shell)
		keeper_sweep_signal_but(k, spec->signal, spec->per_task ? 0 : k->tasks[0].pid);
}

void keeper_control_clocks(struct keeper *k)
{
	int64_t now = clock_boot_us();
	keeper_lease_look(k);
	if (keeper_ending_is_busy(k))
		keeper_memory_look(k);
	if (k->warn_at > 0 && now >= k->warn_at && k->live > 0)
		warn(k, now);
	if (k->limit_at > 0 && now >= k->limit_at && k->live > 0) {
		snprintf(k->message, sizeof k->message, "time limit of %lld seconds reached", (long long)k->limit_s);
		keeper_ending_ask(k, "time_limit");
	}
	keeper_ending_clock(k, now);
}

/* The earlier of two times, where 0 is never. */
static int64_t earlier(int64_t a, int64_t b)
{
	return a == 0 || (b > 0 && b < a) ? b : a;
}

int64_t keeper_control_next(const struct keeper *k)
{
	int64_t clock = earlier(earlier(k->memory_at, k->warn_at), earlier(k->kill_at, k->limit_at));
	return keeper_ending_is_busy(k) ? earlier(k->lease_at, clock) : k->lease_at;
}

static bool act(struct keeper *k, const struct fields *message, struct err *e)
{
	const char *action = fields_get(message, "action"), *cause = fields_get(message, "cause");
	int64_t signal, epilog, limit;
	if (!action)
		return err_set(e, "there is no action");
	if (!fields_int_or(message, "signal", 0, NSIG - 1, 0, &signal, e) ||
	    !fields_int_or(message, "epilog", 0, 1, 1, &epilog, e) ||
	    !fields_int_or(message, "limit", 0, INT64_MAX / 1000000, 0, &limit, e))
		return false;
	if (strcmp(action, "go") == 0) {
		k->go = true;
	} else if (strcmp(action, "end") == 0) {
		k->epilogs = k->epilogs && epilog;
		k->end_asked = true; /* what still runs goes on: only nothing is waited for after it */
	} else if (strcmp(action, "kill") == 0) {
		keeper_ending_ask(k, cause ? cause : "");
	} else if (strcmp(action, "signal") == 0) {
		if (keeper_ending_is_busy(k))
			keeper_sweep_signal(k, (int)signal);
	} else if (strcmp(action, "limit") == 0) {
		keeper_control_limit(k, limit);
	} else if (strcmp(action, "suspend") == 0) {
		suspend(k);
	} else if (strcmp(action, "resume") == 0) {
		resume(k);
	} else {
		return err_set(e, "unknown action \"%.32s\"", action);
	}
	return true;
}

void keeper_control_read(struct keeper *k)
{
	char text[MESSAGE_SIZE];
	ssize_t size;
	while ((size = recv(k->job->ctl, text, sizeof text, MSG_DONTWAIT)) >= 0 || errno == EINTR) {
		if (size < 0)
			continue;
		struct err e;
		struct fields *message = fields_parse(text, (size_t)size, &e);
		if (!message || !act(k, message, &e))
			log_warning("%s: control message ignored: %s", k->name, e.message);
		fields_free(message);
	}
}
