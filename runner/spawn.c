/* spawn.c - starts and reaps programs, each in a process group of its own (spawn.h).
 *
 * Called by: hook.c, script_worker.c.
 * Invariants:
 * - The supervisor (supervisor.c) has the process group on its list from before the program runs until no process of the group is
 *   left. */
#include "runner/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/err.h"
#include "runner/supervisor.h"

enum { STACK = 64 * 1024 };

#ifdef __SANITIZE_ADDRESS__
enum { SHARES = CLONE_VFORK }; /* no CLONE_VM: the child would change AddressSanitizer's shadow of the stack */
#else
enum { SHARES = CLONE_VM | CLONE_VFORK }; /* start programs without a copy of the address space */
#endif

/* Arguments and result of spawn_child. */
struct spawn_child {
	const struct spawn *spawn;
	pid_t parent;
	int *error; /* errno of a failed start, or 0 if the program runs; in memory shared with the child */
};

/* In the child, which shares the parent's memory: execute the program. The child may change no memory but *error. */
static int spawn_child(void *arg)
{
	struct spawn_child *child = arg;
	const struct spawn *spawn = child->spawn;
	sigset_t none;

	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != child->parent)
		_exit(127);
	supervisor_report(getpid(), true);
	signal(SIGPIPE, SIG_DFL); /* daemons ignore SIGPIPE; execve() resets only signals that have handlers */
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	umask(022);
	int input = spawn->input >= 0 ? spawn->input : open("/dev/null", O_RDONLY);
	if (input >= 0 && dup2(input, 0) == 0 && dup2(spawn->output, 1) == 1 && dup2(spawn->errors, 2) == 2 && chdir("/") == 0 &&
	    (spawn->result == 0 || dup2(spawn->result, 3) == 3)) { /* descriptor 3 itself is the supervisor's pipe */
		close_range(spawn->result == 0 ? 3 : 4, ~0U, 0);
		execve(spawn->path, spawn->argv, spawn->environment);
	}
	*child->error = errno;
	_exit(127);
}

/* Start a child, and return when it executes the program or has set *error. Signals are blocked, so that no handler runs in the
 * child on the parent's memory. */
static pid_t spawn_run(struct spawn_child *child)
{
	static _Alignas(16) char stack[STACK];
	sigset_t all, before;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	*child->error = 0;
	pid_t pid = clone(spawn_child, stack + STACK, SHARES | SIGCHLD, child);
	if (pid < 0)
		*child->error = errno;
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

pid_t spawn_start(const struct spawn *spawn)
{
	static int *error;
	struct spawn_child child = {.spawn = spawn, .parent = getpid()};
	pid_t pid;

	if (!error)
		error = spawn_shared_int();
	child.error = error;
	pid = spawn_run(&child);
	if (pid > 0 && !*error)
		return pid;
	if (pid > 0) {
		waitpid(pid, NULL, 0);
		supervisor_report(pid, false);
	}
	errno = *error;
	return 0;
}

int spawn_reap(pid_t pid)
{
	int status = 0;

	kill(-pid, SIGKILL); /* safe before the leader is reaped: until then, the number of the process group is not reused */
	waitpid(pid, &status, 0);
	supervisor_report(pid, false);
	return status;
}
