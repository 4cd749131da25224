/* spawn.c - starts a child that executes a program, without a copy of the keeper's memory.
 *
 * Called by: task.c for each task and hook. Copying the memory costs as much as all other work of a keeper for a short step. A
 * child that shares the memory costs nothing, but its parent thread stops until the child has executed its program. That may
 * block on a FIFO or a file server. So a thread starts the child, and the keeper waits only a moment for the thread.
 * Invariants:
 * - The child changes only its own stack and the argument that it was given.
 * - One child at a time shares the memory. While the thread is busy, further children are forked. */
#include "procmgr/keeper/spawn.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { STACK = 128 * 1024, START_MS = 200, POLL_MS = 1 };

static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool started, asked, busy;
	int (*child)(void *arg);
	void *arg;
	int namespaces;
	pid_t pid; /* set by the kernel when the child exists; -1 if no child could be made */
	_Alignas(16) char stack[STACK];
} s = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void *run_thread(void *unused)
{
	(void)unused;
	pthread_mutex_lock(&s.lock);
	for (;;) {
		while (!s.asked)
			pthread_cond_wait(&s.changed, &s.lock);
		s.asked = false;
		pthread_mutex_unlock(&s.lock);
		pid_t pid = clone(s.child, s.stack + STACK, CLONE_VM | CLONE_VFORK | CLONE_PARENT_SETTID | SIGCHLD | s.namespaces,
				  s.arg, &s.pid);
		pthread_mutex_lock(&s.lock);
		s.pid = pid;
		s.busy = false;
		pthread_cond_broadcast(&s.changed);
	}
	return NULL;
}

/* Start the thread that makes children, with all signals blocked. */
static bool start_thread(void)
{
	pthread_t thread;
	sigset_t all, before;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	s.started = s.started || pthread_create(&thread, NULL, run_thread, NULL) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return s.started;
}

/* Wait at most `ms` milliseconds for a change of the thread's state. The caller holds the lock. */
static bool wait_ms(int ms)
{
	struct timespec until;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += (long)ms * 1000000;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	return pthread_cond_timedwait(&s.changed, &s.lock, &until) == 0;
}

static pid_t spawn_shared(bool *in_use)
{
	s.busy = s.asked = true;
	__atomic_store_n(&s.pid, 0, __ATOMIC_SEQ_CST);
	pthread_cond_broadcast(&s.changed);
	while (s.busy && wait_ms(START_MS))
		continue;
	while (s.busy && __atomic_load_n(&s.pid, __ATOMIC_SEQ_CST) == 0)
		wait_ms(POLL_MS);
	*in_use = s.busy;
	return s.pid;
}

#ifdef __SANITIZE_ADDRESS__
enum { CAN_SHARE = false }; /* the child would share AddressSanitizer's data about the stack too */
#else
enum { CAN_SHARE = true };
#endif

/* Fork a child in new namespaces, which fork() cannot. */
static pid_t fork_child(int namespaces)
{
	return namespaces ? (pid_t)syscall(SYS_clone, (unsigned long)(namespaces | SIGCHLD), NULL, NULL, NULL, NULL) : fork();
}

pid_t spawn_child(int (*child)(void *arg), void *arg, int namespaces, bool *in_use)
{
	bool shares = CAN_SHARE && start_thread();
	pid_t pid = 0;
	*in_use = false;
	pthread_mutex_lock(&s.lock);
	shares = shares && !s.busy;
	if (shares) {
		s.child = child;
		s.arg = arg;
		s.namespaces = namespaces;
		pid = spawn_shared(in_use);
	}
	pthread_mutex_unlock(&s.lock);
	if (shares)
		return pid;
	pid = fork_child(namespaces);
	if (pid == 0)
		_exit(child(arg));
	return pid;
}
