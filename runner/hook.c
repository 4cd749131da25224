/* hook.c - running one program: without a copy of our address space, in a process group of its own.
 *
 * Called by the runner for each hook and mail. What always holds: the warden knows the group before the program runs, and until nothing of it is left; a program does not outlive its time, nor what it started the program; what is kept of its output is its end. */
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
#include "lib/text.h"
#include "runner/warden.h"

enum { STACK = 64 * 1024 };

#ifdef __SANITIZE_ADDRESS__
enum { SHARES = CLONE_VFORK }; /* the sanitizer's notes on the stack would be shared too */
#else
enum { SHARES = CLONE_VM | CLONE_VFORK };
#endif

/* What the child is told, and what it tells where it cannot execute the program. */
struct birth {
	const char *path;
	char **argv, **environment;
	int input, output;
	pid_t parent;
	int *error; /* 0: the program runs; in memory that is shared in any case */
};

/* In the child, which shares our memory until it executes the program: it changes nothing but `birth`. */
static int child(void *arg)
{
	struct birth *b = arg;
	sigset_t none;

	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != b->parent)
		_exit(127);
	warden_told(getpid(), true);
	signal(SIGPIPE, SIG_DFL); /* the one that daemons ignore; execve sees to the others */
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	umask(022);
	int input = b->input >= 0 ? b->input : open("/dev/null", O_RDONLY);
	if (input >= 0 && dup2(input, 0) == 0 && dup2(b->output, 1) == 1 && dup2(b->output, 2) == 2 && chdir("/") == 0) {
		close_range(3, ~0U, 0);
		execve(b->path, b->argv, b->environment);
	}
	*b->error = errno;
	_exit(127);
}

/* The child is there, and executes the program or has said why it cannot. No signal finds it on our memory. */
static pid_t birth(struct birth *b)
{
	static _Alignas(16) char stack[STACK];
	sigset_t all, before;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	*b->error = 0;
	pid_t pid = clone(child, stack + STACK, SHARES | SIGCHLD, b);
	if (pid < 0)
		*b->error = errno;
	sigprocmask(SIG_SETMASK, &before, NULL);
	return pid;
}

static int *shared_int(void)
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
	h->usec = -1;
	return h;
}

static void hook_forget(struct hook *h)
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
	hook_forget(h);
	free(h->label);
	free(h->path);
	free(h);
}

static void output_came(evutil_socket_t fd, short what, void *arg)
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
	if (size == 0) /* closed, but it runs on */
		event_del(h->readable);
}

static void out_of_time(evutil_socket_t fd, short what, void *arg)
{
	struct hook *h = arg;
	char why[64];

	(void)fd;
	(void)what;
	snprintf(why, sizeof why, "not finished after %d seconds", h->timeout_s);
	hook_kill(h, why);
}

static void say(struct hook *h, const char *how)
{
	snprintf(h->message, sizeof h->message, "%s \"%.300s\" %s", h->kind, h->path, how);
}

/* Its name and the arguments; the list alone is malloc'ed. */
static char **argv_of(const struct hook *h, char **arguments)
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
	char **argv = argv_of(h, start->arguments);
	static int *error;
	char how[128];
	int ends[2];

	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK))
		die("could not make a pipe: %s", strerror(errno));
	fcntl(ends[1], F_SETFL, 0); /* programs do not expect anything else */
	if (!error)
		error = shared_int();
	struct birth b = {h->path, argv, start->environment, start->input, ends[1], getpid(), error};
	h->began = clock_boot_us();
	h->pid = birth(&b);
	close(ends[1]);
	free(argv);
	h->output = ends[0];
	h->timeout_s = start->timeout_s;
	if (h->pid > 0 && !*error) {
		h->usec = 0;
		h->readable = event_new(base, h->output, EV_READ | EV_PERSIST, output_came, h);
		h->deadline = evtimer_new(base, out_of_time, h);
		event_add(h->readable, NULL);
		event_add(h->deadline, &limit);
		crash_point(CRASH_hook_started);
		return true;
	}
	if (h->pid > 0) {
		waitpid(h->pid, NULL, 0);
		warden_told(h->pid, false);
	}
	h->pid = 0;
	snprintf(how, sizeof how, "could not be executed: %s", strerror(*error));
	say(h, how);
	return false;
}

void hook_kill(struct hook *h, const char *why)
{
	if (!*h->message)
		say(h, why);
	if (h->pid > 0)
		kill(-h->pid, SIGKILL);
}

void hook_reap(struct hook *h)
{
	char how[64];

	kill(-h->pid, SIGKILL); /* the number is the group's as long as its leader is not reaped */
	waitpid(h->pid, &h->status, 0);
	warden_told(h->pid, false);
	h->pid = 0;
	h->usec = clock_boot_us() - h->began;
	output_came(-1, 0, h);
	text_tail(h->tail, h->tail_length, HOOK_TAIL);
	hook_forget(h);
	crash_point(CRASH_hook_reaped);
	if (h->status != 0 && !*h->message) {
		snprintf(how, sizeof how, "ended with %s %d", WIFSIGNALED(h->status) ? "signal" : "exit code",
			 WIFSIGNALED(h->status) ? WTERMSIG(h->status) : WEXITSTATUS(h->status));
		say(h, how);
	}
}
