/* keeper_hook.c - runs one prolog or epilog with a time limit, and records its exit status and the end of its output.
 *
 * Called by: keeper.c, keeper_if_changed.c, keeper_checkpoint.c and keeper_devices.c.
 * Invariants:
 * - Site hooks run as root with a clean environment, outside the step's cgroup. User hooks run as the user, inside the cgroup.
 * - A hook is killed at its time limit. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/clock.h"
#include "lib/file.h"
#include "lib/log.h"
#include "lib/text.h"
#include "procmgr/keeper/keeper_parts.h"

void keeper_hook_output(struct keeper *k)
{
	struct keeper_hook *h = k->hook;
	for (;;) {
		h->tail_length = text_tail_room(h->tail, h->tail_length, sizeof h->tail, KEEPER_TAIL_SIZE);
		ssize_t size = read(h->output, h->tail + h->tail_length, sizeof h->tail - 1 - h->tail_length);
		if (size < 0 && errno == EINTR)
			continue;
		if (size > 0) {
			h->tail_length += (size_t)size;
			continue;
		}
		if (size == 0 || errno != EAGAIN) {
			close(h->output);
			h->output = -1;
		}
		return;
	}
}

void keeper_hook_report(struct keeper *k)
{
	struct keeper_hook *h = k->hook;
	ssize_t size = read(h->report, h->error, sizeof h->error - 1);
	if (size < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	h->error[size > 0 ? size : 0] = '\0';
	close(h->report);
	h->report = -1;
}

bool keeper_hook_reap(struct keeper *k, pid_t pid)
{
	struct keeper_hook *h = k->hook;
	if (!h || h->pid != pid)
		return false;
	struct stats stats;
	if (!stats_reap(pid, -1, &h->status, &stats))
		die("could not reap hook %ld of attempt %s", (long)pid, k->name);
	if (h->users)
		stats_add(&k->used, &stats);
	h->pid = 0;
	if (h->report >= 0)
		keeper_hook_report(k);
	if (h->output >= 0)
		keeper_hook_output(k);
	return true;
}

static bool is_over(const struct keeper *k)
{
	return k->hook->pid == 0;
}

/* Keep the last KEEPER_TAIL_SIZE bytes of a hook's output as clean text. If the hook did not start, its error replaces the
 * output. */
static void finish_tail(struct keeper_hook *h)
{
	if (*h->error)
		h->tail_length = (size_t)snprintf(h->tail, KEEPER_TAIL_SIZE, "%s", h->error);
	text_tail(h->tail, h->tail_length, KEEPER_TAIL_SIZE);
}

static void close_hook(struct keeper_hook *h)
{
	if (h->report >= 0)
		close(h->report);
	if (h->output >= 0)
		close(h->output);
	h->report = h->output = -1;
}

/* Start a hook and wait for its end, `limit` seconds at most (0: as long as the attempt lasts). Returns false if the hook could not be
 * forked. */
static bool run_hook(struct keeper *k, struct keeper_hook *h, struct task_start *start, int limit, struct err *e)
{
	int ends[2];
	bool in_use; /* result of task_start() that is ignored: all that `start` points to stays until the hook has ended */
	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_sys(e, "could not make a pipe for its output");
	file_set_blocking(ends[0], false);
	start->out = ends[1];
	h->users = start->owner != NULL;
	h->output = ends[0];
	if (h->users)
		keeper_sweep_expect(k);
	h->pid = task_start(start, &h->report, &in_use, e);
	close(ends[1]);
	if (h->pid < 0) {
		close(ends[0]);
		return false;
	}
	k->hook = h;
	if (h->users)
		keeper_memory_begin(k);
	if (!keeper_wait(k, is_over, limit > 0 ? clock_boot_us() + (int64_t)limit * 1000000 : 0)) {
		snprintf(h->error, sizeof h->error, "not finished after %d second%s", limit, text_plural(limit));
		kill(-h->pid, SIGKILL);
		keeper_wait(k, is_over, 0);
	}
	close_hook(h);
	return true;
}

/* Run a hook and write its record. If the hook fails, k->message has the reason. */
static bool run_recorded(struct keeper *k, const char *name, struct task_start *start, int limit)
{
	struct err e;
	struct keeper_hook h = {.report = -1, .output = -1};
	int64_t began = clock_boot_us();
	if (!run_hook(k, &h, start, limit, &e)) {
		snprintf(k->message, sizeof k->message, "%s: %.400s", name, e.message);
		return false;
	}
	finish_tail(&h);
	keeper_record_hook(k, name, clock_boot_us() - began);
	k->hook = NULL;
	if (h.status == 0)
		return true;
	if (*h.error)
		snprintf(k->message, sizeof k->message, "%s \"%s\": %.300s", name, start->path, h.error);
	else
		snprintf(k->message, sizeof k->message, "%s \"%s\" ended with %s %d", name, start->path,
			 WIFSIGNALED(h.status) ? "signal" : "exit code",
			 WIFSIGNALED(h.status) ? WTERMSIG(h.status) : WEXITSTATUS(h.status));
	return false;
}

bool keeper_hook_site(struct keeper *k, const char *name, const char *path)
{
	if (!*path)
		return true;
	struct task_facts facts = keeper_place_facts(k, -1);
	facts.without_gpus = k->devices_free_at > 0;
	char *argv[] = {(char *)path, NULL};
	char **environment = task_site_environment(&facts);
	struct task_start start = {
		.path = path, .node = k->order->node, .argv = argv, .environment = environment, .folder = "/", .umask = 022};
	bool good = run_recorded(k, name, &start, k->job->conf->node_hook_timeout);
	task_environment_free(environment);
	return good;
}

bool keeper_hook_program(struct keeper *k, const char *name, char *const *argv, int limit)
{
	struct task_facts facts = keeper_place_facts(k, -1);
	facts.credentials = k->delivered;
	facts.tmpdir = k->tmpdir;
	facts.without_gpus = k->devices_free_at > 0;
	char **environment = task_environment(k->environment->bytes, k->environment->size, &facts);
	struct task_start start = {.path = argv[0], .argv = argv, .environment = environment};
	keeper_place_process(k, &start);
	bool good = run_recorded(k, name, &start, limit);
	task_environment_free(environment);
	return good;
}

bool keeper_hook_user(struct keeper *k, const char *name, const char *path)
{
	char *argv[] = {(char *)path, NULL};
	return !*path || keeper_hook_program(k, name, argv, k->job->conf->node_hook_timeout);
}

int keeper_hook_call(struct keeper *k, bool as_user, int (*function)(const void *argument), const void *argument,
		     char text[KEEPER_TAIL_SIZE])
{
	struct err e;
	struct keeper_hook h = {.report = -1, .output = -1};
	struct task_start start = {
		.function = function, .argument = argument, .node = k->order->node, .folder = "/", .umask = 022};
	if (as_user)
		keeper_place_process(k, &start);
	bool began = run_hook(k, &h, &start, k->job->conf->node_hook_timeout, &e);
	k->hook = NULL;
	if (began)
		finish_tail(&h);
	snprintf(text, KEEPER_TAIL_SIZE, "%.*s", KEEPER_TAIL_SIZE - 1, began ? h.tail : e.message);
	return began && !*h.error && WIFEXITED(h.status) ? WEXITSTATUS(h.status) : -1;
}

bool keeper_hook_unrecorded(struct keeper *k, const struct task_start *start, int limit)
{
	struct err e;
	struct task_start own = *start;
	struct keeper_hook h = {.report = -1, .output = -1};
	bool good = run_hook(k, &h, &own, limit, &e) && h.status == 0;
	k->hook = NULL;
	return good;
}

void keeper_hook_free(struct task_start *start)
{
	task_environment_free((char **)start->environment);
	free((void *)start->argv);
}

bool keeper_hook_beside(struct keeper *k, struct task_start *start, pid_t *child)
{
	struct err e;
	int report;
	bool in_use;
	pid_t pid = task_start(start, &report, &in_use, &e);
	*child = pid > 0 ? pid : 0;
	if (pid < 0)
		log_warning("attempt %s: could not start \"%s\": %s", k->name, start->path, e.message);
	else
		close(report);
	if (pid > 0 && in_use) {
		k->has_slow_start = true;
		return false;
	}
	keeper_hook_free(start);
	return true;
}
