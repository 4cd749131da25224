/* hook.c - runs one program of the site in a process group of its own.
 *
 * Called by: runner_child.c for hooks, runner_mail.c for the mail program.
 * Invariants:
 * - The supervisor has the process group on its list from before the program runs until no process of the group is left.
 * - Neither the program nor anything in its process group outlives the program's time limit.
 * - Only the end of the output is kept. */
#include "runner/hook.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/clock.h"
#include "lib/crash.h"
#include "lib/err.h"
#include "lib/log.h"
#include "lib/text.h"
#include "runner/supervisor.h"

enum { STACK = 64 * 1024 };

#ifdef __SANITIZE_ADDRESS__
enum { SHARES = CLONE_VFORK }; /* with CLONE_VM, the child would change AddressSanitizer's shadow of the stack */
#else
enum { SHARES = CLONE_VM | CLONE_VFORK }; /* start programs without a copy of the address space */
#endif

/* Arguments and result of spawn_child. */
struct spawn {
	const char *path;
	char **argv, **environment;
	int input, output;
	pid_t parent;
	int *error; /* errno of a failed start, or 0 if the program runs; in memory shared with the child */
};

/* Execute the program, in a child that shares the parent's memory until then. The child must change nothing but *error. */
static int spawn_child(void *arg)
{
	struct spawn *spawn = arg;
	sigset_t none;

	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != spawn->parent)
		_exit(127);
	supervisor_report(getpid(), true);
	signal(SIGPIPE, SIG_DFL); /* daemons ignore SIGPIPE; execve() resets only signals that have handlers */
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	umask(022);
	int input = spawn->input >= 0 ? spawn->input : open("/dev/null", O_RDONLY);
	if (input >= 0 && dup2(input, 0) == 0 && dup2(spawn->output, 1) == 1 && dup2(spawn->output, 2) == 2 && chdir("/") == 0) {
		close_range(3, ~0U, 0);
		execve(spawn->path, spawn->argv, spawn->environment);
	}
	*spawn->error = errno;
	_exit(127);
}

/* Start a child, and return when it executes the program or has set *error. Signals are blocked, so that no handler runs in the
 * child on the parent's memory. */
static pid_t spawn_run(struct spawn *spawn)
{
	static _Alignas(16) char stack[STACK];
	sigset_t all, before;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	*spawn->error = 0;
	pid_t pid = clone(spawn_child, stack + STACK, SHARES | SIGCHLD, spawn);
	if (pid < 0)
		*spawn->error = errno;
	sigprocmask(SIG_SETMASK, &before, NULL);
	return pid;
}

static int *spawn_shared_int(void)
{
	int *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (shared == MAP_FAILED)
		die("out of memory");
	return shared;
}

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
		if (h->tail_length == sizeof h->tail - 1) {
			memmove(h->tail, h->tail + h->tail_length - HOOK_TAIL, HOOK_TAIL);
			h->tail_length = HOOK_TAIL;
		}
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
	snprintf(why, sizeof why, "not finished after %d seconds", h->timeout_s);
	hook_kill(h, why);
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

bool hook_start(struct hook *h, struct event_base *base, const struct hook_start *start)
{
	const struct timeval limit = {.tv_sec = start->timeout_s};
	char **argv = hook_argv(h, start->arguments);
	static int *error;
	char how[128];
	int ends[2];

	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK))
		die("could not make a pipe: %s", strerror(errno));
	fcntl(ends[1], F_SETFL, 0); /* make the program's end of the pipe blocking, as programs expect */
	if (!error)
		error = spawn_shared_int();
	struct spawn spawn = {h->path, argv, start->environment, start->input, ends[1], getpid(), error};
	h->began_us = clock_boot_us();
	h->pid = spawn_run(&spawn);
	close(ends[1]);
	free(argv);
	h->output = ends[0];
	h->timeout_s = start->timeout_s;
	if (h->pid > 0 && !*error) {
		h->ran_us = 0;
		h->readable = event_new(base, h->output, EV_READ | EV_PERSIST, hook_read_output, h);
		h->deadline = evtimer_new(base, hook_time_out, h);
		event_add(h->readable, NULL);
		event_add(h->deadline, &limit);
		crash_point(CRASH_hook_started);
		return true;
	}
	if (h->pid > 0) {
		waitpid(h->pid, NULL, 0);
		supervisor_report(h->pid, false);
	}
	h->pid = 0;
	snprintf(how, sizeof how, "could not be executed: %s", strerror(*error));
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

void hook_reap(struct hook *h)
{
	char how[64];

	kill(-h->pid, SIGKILL); /* safe: until its leader is reaped, the process group's number is not reused */
	waitpid(h->pid, &h->status, 0);
	supervisor_report(h->pid, false);
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

void hook_list_free(struct hook **list)
{
	for (struct hook *h = *list, *next; h; h = next) {
		next = h->next;
		hook_free(h);
	}
	*list = NULL;
}

void hook_list_add(struct hook **list, struct hook *h)
{
	h->next = *list;
	*list = h;
}

void hook_list_add_ended(struct hook **ended, struct hook *h)
{
	if (*h->message)
		log_warning("%s: %s", h->label, h->message);
	hook_list_add(ended, h);
}

void hook_list_append(struct hook **list, struct hook **from)
{
	while (*list)
		list = &(*list)->next;
	*list = *from;
	*from = NULL;
}

struct hook *hook_list_take(struct hook **list, pid_t pid)
{
	struct hook *h;

	while (*list && (*list)->pid != pid)
		list = &(*list)->next;
	h = *list;
	if (h)
		*list = h->next;
	return h;
}
