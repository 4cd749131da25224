/* keeper_control.c - applies control messages and timers to a step.
 *
 * Called by: the keeper's loop. Messages come from the launcher through the socket in the spool folder. Only root, or the user of
 * a private instance, can write to that socket.
 * Invariants:
 * - The time limit does not run while the step is suspended.
 * - A step whose GPUs were reported as free goes on only by a message that names this suspension. */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "lib/clock.h"
#include "lib/log.h"
#include "lib/text.h"
#include "procmgr/keeper/keeper_parts.h"

enum { MESSAGE_SIZE = 4096 };
enum { LIMIT_ENDLESS = INT_MAX }; /* a time limit of INT_MAX seconds or more means no limit */

/* The suspension of a step with GPUs, until its processes are stopped. */
enum keeper_pause {
	KEEPER_PAUSE_NONE,
	KEEPER_PAUSE_LEAVING,  /* the step's programs leave the GPUs */
	KEEPER_PAUSE_UNWANTED, /* the step's programs leave the GPUs, and the step is to be resumed at once after that */
};

struct keeper_timers {
	enum keeper_pause pause;
	int64_t limit_s;	   /* the current time limit in seconds; 0 means none */
	int64_t limit_at;	   /* when the time limit is reached; 0: never, or the step is suspended */
	int64_t warn_at;	   /* when the warning signal is due; 0: never, or it was sent */
	int64_t warned_at;	   /* when the warning signal was sent; 0: not yet */
	int64_t warned_paused;	   /* value of `paused` when the warning signal was sent */
	int64_t paused, paused_at; /* microseconds for which the step was suspended, and start of the current suspension */
};

/* Set the time of the warning signal (--signal) from the time limit. A warning that was sent is sent again only if its new time
 * is later than the last warning. */
static void set_warning(struct keeper *k)
{
	const struct order_spec *spec = &k->order->spec;
	int64_t at = k->timers->limit_at - (int64_t)spec->signal_s * 1000000;
	bool sent = k->timers->warned_at > 0 && at <= k->timers->warned_at + k->timers->paused - k->timers->warned_paused;
	k->timers->warn_at = spec->signal > 0 && k->timers->limit_at > 0 && !sent ? (at > 0 ? at : 1) : 0;
}

/* Set the time limit in seconds from the start of the tasks, without suspensions; 0 means no limit. */
static void set_limit(struct keeper *k, int64_t limit_s)
{
	bool runs = keeper_ending_is_running(k) && !k->suspended && !*k->cause && limit_s > 0 && limit_s < LIMIT_ENDLESS;
	k->timers->limit_s = limit_s;
	k->timers->limit_at = runs ? k->tasks[0].started_at + limit_s * 1000000 + k->timers->paused : 0;
	set_warning(k);
	keeper_checkpoint_limit(k, k->timers->limit_at);
}

void keeper_control_open(struct keeper *k)
{
	k->timers = xcalloc(1, sizeof *k->timers);
	k->timers->limit_s = k->order->time_limit_s;
}

void keeper_control_start(struct keeper *k)
{
	set_limit(k, k->timers->limit_s);
}

/* Do the time limit and its warning signal still apply? Not once all tasks have ended, also on nodes that the keeper waits for, or
 * the attempt is being ended. */
static bool has_limit(const struct keeper *k)
{
	return keeper_ending_is_running(k) && !*k->cause;
}

/* Has the step processes, and is it neither suspended nor being ended? */
static bool can_suspend(const struct keeper *k)
{
	return !k->suspended && (keeper_ending_is_running(k) || k->manager) && !*k->cause;
}

/* Stop the processes. `gives`: the step's GPUs are given back if no process can reach them then. */
static void stop_step(struct keeper *k, bool gives)
{
	keeper_sweep_freeze(k, true);
	if (!keeper_ending_is_running(k))
		return; /* a node without tasks of the script: a node with tasks reports that the step is suspended */
	k->timers->paused_at = clock_boot_us();
	set_limit(k, k->timers->limit_s);
	keeper_record_suspended(k, k->timers->paused_at, gives && keeper_devices_close(k, k->timers->paused_at));
}

/* `devices`: clock of the record that the GPUs are free; 0: the message does not give the step its GPUs back. */
static void resume_step(struct keeper *k, int64_t devices)
{
	if (k->timers->pause != KEEPER_PAUSE_NONE)
		k->timers->pause = KEEPER_PAUSE_UNWANTED;
	if (!k->suspended || !keeper_devices_open(k, devices))
		return;
	keeper_sweep_freeze(k, false);
	if (k->task_count == 0)
		return;
	k->timers->paused += clock_boot_us() - k->timers->paused_at;
	set_limit(k, k->timers->limit_s);
	keeper_record_plain(k, "resumed");
}

/* `gives`: the step gives its GPUs back if its programs leave them. */
static void suspend_step(struct keeper *k, bool gives)
{
	if (k->timers->pause != KEEPER_PAUSE_NONE) {
		k->timers->pause = KEEPER_PAUSE_LEAVING;
		return;
	}
	if (!can_suspend(k))
		return;
	k->timers->pause = KEEPER_PAUSE_LEAVING;
	bool left = keeper_devices_leave(k);
	bool goes_on = k->timers->pause == KEEPER_PAUSE_UNWANTED;
	k->timers->pause = KEEPER_PAUSE_NONE;
	if (!can_suspend(k))
		return;
	stop_step(k, gives && left && !goes_on);
	if (goes_on)
		resume_step(k, 0);
}

/* Send the warning signal as Slurm does. With `B:`, signal only the batch shell. Without it, signal all processes but the shell,
 * since a shell without a trap would end. A script that runs once for each task is signalled too, like a task of srun. */
static void send_warning(struct keeper *k, int64_t now)
{
	const struct order_spec *spec = &k->order->spec;
	k->timers->warn_at = 0;
	k->timers->warned_at = now;
	k->timers->warned_paused = k->timers->paused;
	for (int i = 0; spec->signal_shell && i < k->task_count; i++)
		keeper_program_signal(&k->tasks[i], spec->signal, false);
	if (!spec->signal_shell)
		keeper_sweep_signal_others(k, spec->signal, spec->per_task ? 0 : keeper_program_pid(&k->tasks[0]));
}

void keeper_control_timers(struct keeper *k)
{
	int64_t now = clock_boot_us();
	keeper_lease_poll(k);
	keeper_manager_poll(k);
	if (k->timers->pause == KEEPER_PAUSE_NONE)
		keeper_devices_poll(k);
	if (keeper_ending_is_busy(k))
		keeper_memory_poll(k);
	if (has_limit(k) && k->timers->warn_at > 0 && now >= k->timers->warn_at)
		send_warning(k, now);
	if (has_limit(k) && k->timers->limit_at > 0 && now >= k->timers->limit_at) {
		snprintf(k->message, sizeof k->message, "time limit of %lld second%s reached", (long long)k->timers->limit_s,
			 text_plural(k->timers->limit_s));
		keeper_ending_ask(k, "time_limit", 0);
	}
	if (has_limit(k))
		keeper_checkpoint_poll(k, now, k->timers->limit_at);
	keeper_ending_timer(k, now);
}

/* Returns the earlier of two times; 0 means never. */
static int64_t control_earlier(int64_t a, int64_t b)
{
	return a == 0 || (b > 0 && b < a) ? b : a;
}

int64_t keeper_control_next_timer(const struct keeper *k)
{
	int64_t limit = has_limit(k) ? control_earlier(control_earlier(k->timers->warn_at, k->timers->limit_at),
						       keeper_checkpoint_next(k, k->timers->limit_at))
				     : 0;
	int64_t tasks = keeper_ending_is_busy(k) ? control_earlier(control_earlier(keeper_memory_next(k), k->kill_at), limit) : 0;
	/* The timers of the lease and of the step manager count also while no process of the step runs on this node. */
	return control_earlier(control_earlier(keeper_lease_next(k), keeper_manager_next(k)), tasks);
}

static bool handle_message(struct keeper *k, const struct fields *message, struct err *e)
{
	const char *action = fields_get(message, "action"), *cause = fields_get(message, "cause");
	int64_t signal, limit, devices;
	if (!action)
		return err_set(e, "it has no action");
	if (strcmp(action, "agent") == 0)
		return keeper_manager_call(k, fields_get(message, "host"), fields_get(message, "port"),
					   fields_get(message, "key")) ||
		       err_set(e, "action \"agent\" has no host, port and key, or this is the first node of the step, or the "
				  "step ends");
	if (strcmp(action, "agents") == 0)
		return keeper_manager_want_agents(k) || err_set(e, "this is not the first node of the step, or the step ends");
	if (strcmp(action, "credentials") == 0) {
		keeper_credential_look(k);
		return true;
	}
	if (strcmp(action, "grow") == 0 || strcmp(action, "shrink") == 0)
		return keeper_manager_grow(k, action, fields_get(message, "growth"), fields_get(message, "on")) ||
		       err_set(e, "it has no attempt and node, or the step has ended");
	if (strcmp(action, "node") == 0) {
		bool good = keeper_nodes_change(k, fields_get(message, "name"), fields_get(message, "state"),
						fields_get(message, "reason"));
		keeper_manager_wake(k);
		return good || err_set(e, "it has no name, state and reason");
	}
	if (strcmp(action, "listen") == 0)
		return keeper_manager_want_port(k) || err_set(e, "this is not the first node of the step, or the step ends");
	if (!fields_int_or(message, "signal", 0, NSIG - 1, 0, &signal, e) ||
	    !fields_int_or(message, "limit", 0, INT64_MAX / 1000000, 0, &limit, e) ||
	    !fields_int_or(message, "devices", 0, INT64_MAX, 0, &devices, e))
		return false;
	if (strcmp(action, "go") == 0) {
		keeper_ending_request(k, KEEPER_REQUEST_GO);
	} else if (strcmp(action, "end") == 0) {
		/* Running tasks go on, but the keeper waits for nothing after them. */
		keeper_ending_request(k, KEEPER_REQUEST_END);
	} else if (strcmp(action, "kill") == 0) {
		if (devices > 0 && devices == k->devices_free_at)
			keeper_devices_open(k, devices); /* its programs return before they end */
		keeper_ending_ask(k, cause ? cause : "", limit);
	} else if (strcmp(action, "signal") == 0) {
		if (keeper_ending_is_busy(k))
			keeper_sweep_signal(k, (int)signal);
	} else if (strcmp(action, "checkpoint") == 0) {
		keeper_checkpoint_ask(k, "asked");
	} else if (strcmp(action, "limit") == 0) {
		set_limit(k, limit);
	} else if (strcmp(action, "suspend") == 0) {
		suspend_step(k, devices > 0);
	} else if (strcmp(action, "resume") == 0) {
		resume_step(k, devices);
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
