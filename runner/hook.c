/* hook.c - runs one program of the site in a process group of its own.
 *
 * Called by: runner_child.c for hooks, runner_mail.c for the mail program, runner_power.c for programs that power nodes,
 * trigger_start.c for triggers, script_process.c for functions of burst_buffer.lua; hook_set.c.
 * Invariants:
 * - The supervisor (supervisor.c) has the process group on its list until no process of the group is left.
 * - Neither the program nor anything in its process group outlives the program's time limit.
 * - Of the program's output, only the last HOOK_TAIL bytes are kept. */
#include "runner/hook.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/clock.h"
#include "lib/crash.h"
#include "lib/err.h"
#include "lib/file.h"
#include "lib/log.h"
#include "lib/text.h"
#include "runner/spawn.h"

struct hook *hook_new(int64_t id, const char *label, const char *path, const char *kind)
{
	struct hook *h = xcalloc(1, sizeof *h);

	h->id = id;
	h->label = xstrdup(label);
	h->path = xstrdup(path);
	h->kind = kind;
	h->output = -1;
	h->ran_us = -1;
	return h;
}

static void hook_close_output(struct hook *h)
{
	if (h->readable)
		event_free(h->readable);
	if (h->deadline)
		event_free(h->deadline);
	if (h->output >= 0)
		close(h->output);
	h->readable = h->deadline = NULL;
	h->output = -1;
}

void hook_free(struct hook *h)
{
	if (!h)
		return;
	hook_close_output(h);
	if (h->about)
		h->about_free(h->about);
	free(h->label);
	free(h->path);
	free(h);
}

static void hook_read_output(evutil_socket_t fd, short what, void *arg)
{
	struct hook *h = arg;
	ssize_t size;

	(void)fd;
	(void)what;
	do {
		h->tail_length = text_tail_room(h->tail, h->tail_length, sizeof h->tail, HOOK_TAIL);
		size = read(h->output, h->tail + h->tail_length, sizeof h->tail - 1 - h->tail_length);
		h->tail_length += size > 0 ? (size_t)size : 0;
	} while (size > 0);
	if (size == 0) /* the program has closed its output but may still run */
		event_del(h->readable);
}

static void hook_time_out(evutil_socket_t fd, short what, void *arg)
{
	struct hook *h = arg;
	char why[64];

	(void)fd;
	(void)what;
	snprintf(why, sizeof why, "not finished after %d second%s", h->timeout_s, text_plural(h->timeout_s));
	if (*h->message) /* its grace period is over */
		hook_kill(h, why);
	else
		hook_stop(h, why);
}

static void hook_set_message(struct hook *h, const char *how)
{
	snprintf(h->message, sizeof h->message, "%s \"%.300s\" %s", h->kind, h->path, how);
}

/* Make a list of the program's name and its arguments. Only the list is malloc'ed. */
static char **hook_argv(const struct hook *h, char **arguments)
{
	size_t count = 0;
	char **argv;

	while (arguments && arguments[count])
		count++;
	argv = xcalloc(count + 2, sizeof *argv);
	argv[0] = h->path;
	if (count)
		memcpy(argv + 1, arguments, count * sizeof *argv);
	return argv;
}

/* A memory file, since a pipe may be too small for the text. */
int hook_open_input(const char *text)
{
	int fd = memfd_create("input", MFD_CLOEXEC);

	if (fd >= 0 && !file_write_all(fd, text, strlen(text)))
		die("could not write the input of a program: %s", strerror(errno));
	if (fd < 0 || lseek(fd, 0, SEEK_SET) != 0)
		die("could not make a file for the input of a program: %s", strerror(errno));
	return fd;
}

bool hook_start(struct hook *h, struct event_base *base, const struct hook_start *start)
{
	const struct timeval limit = {.tv_sec = start->timeout_s};
	char **argv = hook_argv(h, start->arguments);
	char how[128];
	int ends[2], error;

	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK))
		die("could not make a pipe: %s", strerror(errno));
	fcntl(ends[1], F_SETFL, 0); /* make the program's end of the pipe blocking, as programs expect */
	h->began_us = clock_boot_us();
	h->pid = spawn_start(&(struct spawn){.path = h->path,
					     .argv = argv,
					     .environment = start->environment,
					     .input = start->input,
					     .output = ends[1],
					     .errors = ends[1],
					     .result = start->result});
	error = errno;
	close(ends[1]);
	free(argv);
	h->output = ends[0];
	h->timeout_s = start->timeout_s;
	h->gentle = start->gentle;
	if (h->pid > 0) {
		h->ran_us = 0;
		h->readable = event_new(base, h->output, EV_READ | EV_PERSIST, hook_read_output, h);
		h->deadline = evtimer_new(base, hook_time_out, h);
		event_add(h->readable, NULL);
		event_add(h->deadline, &limit);
		crash_point(CRASH_hook_started);
		return true;
	}
	snprintf(how, sizeof how, "could not be executed: %s", strerror(error));
	hook_set_message(h, how);
	return false;
}

void hook_kill(struct hook *h, const char *why)
{
	if (!*h->message)
		hook_set_message(h, why);
	if (h->pid > 0)
		kill(-h->pid, SIGKILL);
}

void hook_stop(struct hook *h, const char *why)
{
	const struct timeval grace = {.tv_sec = HOOK_GRACE};

	if (!h->gentle || h->pid <= 0) {
		hook_kill(h, why);
		return;
	}
	if (*h->message)
		return;
	hook_set_message(h, why);
	kill(-h->pid, SIGTERM);
	event_add(h->deadline, &grace);
}

void hook_reap(struct hook *h)
{
	char how[64];

	h->status = spawn_reap(h->pid);
	h->pid = 0;
	h->ran_us = clock_boot_us() - h->began_us;
	hook_read_output(-1, 0, h);
	text_tail(h->tail, h->tail_length, HOOK_TAIL);
	hook_close_output(h);
	crash_point(CRASH_hook_reaped);
	if (h->status != 0 && !*h->message) {
		snprintf(how, sizeof how, "ended with %s %d", WIFSIGNALED(h->status) ? "signal" : "exit code",
			 WIFSIGNALED(h->status) ? WTERMSIG(h->status) : WEXITSTATUS(h->status));
		hook_set_message(h, how);
	}
}
