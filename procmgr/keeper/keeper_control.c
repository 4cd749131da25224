/* keeper_control.c - applies control messages and timers to a step.
 *
 * Called by: the keeper's loop. Messages come from the launcher through the socket in the spool folder. Only root, or the user of
 * a private instance, can write to that socket.
 * Invariants: the time limit does not run while the step is suspended. */
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
enum { LIMIT_ENDLESS = INT_MAX }; /* a time limit of INT_MAX seconds or more means no limit */

/* Set the time of the warning signal (--signal) from the time limit. A warning that was sent is sent again only if its new time
 * is later than the last warning. */
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

static void suspend_step(struct keeper *k)
{
	if (k->suspended || k->live == 0 || *k->cause)
		return;
	keeper_sweep_freeze(k, true);
	k->paused_at = clock_boot_us();
	keeper_control_limit(k, k->limit_s);
	keeper_record_plain(k, "suspended");
}

static void resume_step(struct keeper *k)
{
	if (!k->suspended)
		return;
	keeper_sweep_freeze(k, false);
	k->paused += clock_boot_us() - k->paused_at;
	keeper_control_limit(k, k->limit_s);
	keeper_record_plain(k, "resumed");
}

/* Send the warning signal as Slurm does. With `B:`, signal only the batch shell. Without it, signal all processes but the shell,
 * since a shell without a trap would end. A script that runs once for each task is signalled too, like a task of srun. */
static void send_warning(struct keeper *k, int64_t now)
{
	const struct order_spec *spec = &k->order->spec;
	k->warn_at = 0;
	k->warned_at = now;
	k->warned_paused = k->paused;
	for (int i = 0; spec->signal_shell && i < k->task_count; i++)
		if (k->tasks[i].pid > 0)
			kill(k->tasks[i].pid, spec->signal);
	if (!spec->signal_shell)
		keeper_sweep_signal_others(k, spec->signal, spec->per_task ? 0 : k->tasks[0].pid);
}

void keeper_control_timers(struct keeper *k)
{
	int64_t now = clock_boot_us();
	keeper_lease_poll(k);
	if (keeper_ending_is_busy(k))
		keeper_memory_poll(k);
	if (k->warn_at > 0 && now >= k->warn_at && k->live > 0)
		send_warning(k, now);
	if (k->limit_at > 0 && now >= k->limit_at && k->live > 0) {
		snprintf(k->message, sizeof k->message, "time limit of %lld seconds reached", (long long)k->limit_s);
		keeper_ending_ask(k, "time_limit");
	}
	keeper_ending_timer(k, now);
}

/* Returns the earlier of two times; 0 means never. */
static int64_t earlier(int64_t a, int64_t b)
{
	return a == 0 || (b > 0 && b < a) ? b : a;
}

int64_t keeper_control_next_timer(const struct keeper *k)
{
	int64_t clock = earlier(earlier(k->memory_at, k->warn_at), earlier(k->kill_at, k->limit_at));
	return keeper_ending_is_busy(k) ? earlier(k->lease_at, clock) : k->lease_at;
}

static bool handle_message(struct keeper *k, const struct fields *message, struct err *e)
{
	const char *action = fields_get(message, "action"), *cause = fields_get(message, "cause");
	int64_t signal, epilog, limit;
	if (!action)
		return err_set(e, "it has no action");
	if (!fields_int_or(message, "signal", 0, NSIG - 1, 0, &signal, e) ||
	    !fields_int_or(message, "epilog", 0, 1, 1, &epilog, e) ||
	    !fields_int_or(message, "limit", 0, INT64_MAX / 1000000, 0, &limit, e))
		return false;
	if (strcmp(action, "go") == 0) {
		k->go = true;
	} else if (strcmp(action, "end") == 0) {
		k->epilogs = k->epilogs && epilog;
		k->end_asked = true; /* running tasks go on, but the keeper waits for nothing after them */
	} else if (strcmp(action, "kill") == 0) {
		keeper_ending_ask(k, cause ? cause : "");
	} else if (strcmp(action, "signal") == 0) {
		if (keeper_ending_is_busy(k))
			keeper_sweep_signal(k, (int)signal);
	} else if (strcmp(action, "limit") == 0) {
		keeper_control_limit(k, limit);
	} else if (strcmp(action, "suspend") == 0) {
		suspend_step(k);
	} else if (strcmp(action, "resume") == 0) {
		resume_step(k);
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
		if (!message || !handle_message(k, message, &e))
			log_warning("attempt %s: control message ignored: %s", k->name, e.message);
		fields_free(message);
	}
}
