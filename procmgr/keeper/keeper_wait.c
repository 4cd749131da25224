/* keeper_wait.c - the keeper's loop: handles control messages, ended children, output of hooks, and timers.
 *
 * Called by: keeper.c and others wherever the keeper waits.
 * Invariants: every wait handles every event. So a message that comes early, for example during the prolog, changes the keeper's
 * state and is not lost. */
#include <poll.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "lib/clock.h"
#include "procmgr/keeper/keeper_parts.h"

/* Polled descriptors before those of the tasks: control, signals, the hook's report, the hook's output, the socket for sub-steps. */
enum { FIXED_COUNT = 5 };

static void drain_signals(const struct keeper *k)
{
	struct signalfd_siginfo info;
	while (read(k->signals, &info, sizeof info) == sizeof info)
		continue;
}

/* Reap an orphan, which a task or a hook has left. The attempt does not pay for what a site hook leaves. */
static void reap_orphan(struct keeper *k, pid_t pid)
{
	struct stats stats;
	int status;
	int64_t started = k->manager ? stats_start_time(pid) : 0;
	if (!stats_reap(pid, -1, &status, &stats))
		return;
	if (!(k->hook && !k->hook->users))
		stats_add(&k->used, &stats);
	if (k->manager)
		k->handlers->manager_orphan(k, pid, started, status, &stats);
}

/* Reap ended children. */
static void reap_children(struct keeper *k)
{
	for (pid_t pid; (pid = stats_ended_child()) > 0;)
		if (!k->handlers->task_reap(k, pid) && !k->handlers->hook_reap(k, pid) && !k->handlers->manager_reap(k, pid))
			reap_orphan(k, pid);
}

static int timeout_ms(const struct keeper *k, int64_t deadline)
{
	int64_t next = k->handlers->next(k), now = clock_boot_us();
	if (next == 0 || (deadline > 0 && deadline < next))
		next = deadline;
	if (next == 0)
		return -1;
	if (next <= now)
		return 0;
	int64_t ms = (next - now + 999) / 1000;
	return ms > 3600000 ? 3600000 : (int)ms;
}

/* Shorten the timeout to the time when delayed records are due. Records that may not be delayed are written before the keeper
 * waits. */
static int write_ms(struct keeper *k, int timeout)
{
	int64_t due = keeper_record_due(k), wait = due > 0 ? (due - clock_boot_us()) / 1000 : 0;
	if (wait > 0)
		return timeout < 0 || timeout > wait ? (int)wait : timeout;
	if (timeout != 0)
		keeper_record_flush(k);
	return timeout;
}

static int gather_descriptors(const struct keeper *k, struct pollfd *fds)
{
	fds[0] = (struct pollfd){.fd = k->job->ctl, .events = POLLIN};
	fds[1] = (struct pollfd){.fd = k->signals, .events = POLLIN};
	fds[2] = (struct pollfd){.fd = k->hook ? k->hook->report : -1, .events = POLLIN};
	fds[3] = (struct pollfd){.fd = k->hook ? k->hook->output : -1, .events = POLLIN};
	fds[4] = (struct pollfd){.fd = k->handlers->manager_descriptor(k), .events = POLLIN};
	for (int i = 0; i < k->task_count; i++)
		fds[FIXED_COUNT + i] = (struct pollfd){.fd = k->tasks[i].report, .events = POLLIN};
	return FIXED_COUNT + k->task_count;
}

static void poll_once(struct keeper *k, int64_t deadline)
{
	struct pollfd *fds = xcalloc((unsigned long)(FIXED_COUNT + k->task_count), sizeof *fds);
	int count = gather_descriptors(k, fds), timeout = write_ms(k, timeout_ms(k, deadline));
	if (poll(fds, (nfds_t)count, timeout) > 0) {
		if (fds[2].revents)
			k->handlers->hook_report(k);
		if (fds[3].revents)
			k->handlers->hook_output(k);
		for (int i = FIXED_COUNT; i < count; i++)
			if (fds[i].revents)
				k->handlers->task_report(k, &k->tasks[i - FIXED_COUNT]);
		if (fds[1].revents)
			drain_signals(k);
		if (fds[0].revents)
			k->handlers->control(k);
		if (fds[4].revents)
			k->handlers->manager_connect(k);
	}
	free(fds);
	reap_children(k);
	k->handlers->timers(k);
}

bool keeper_wait(struct keeper *k, bool (*over)(const struct keeper *k), int64_t deadline)
{
	while (!over(k)) {
		poll_once(k, deadline);
		if (deadline > 0 && clock_boot_us() >= deadline)
			return over(k);
	}
	return true;
}
