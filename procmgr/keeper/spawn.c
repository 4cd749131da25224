/* spawn.c - children that execute a program, without a copy of our address space.
 *
 * Called for each task and hook: to copy it, to lose the copy again and to copy pages that both write costs as much as all else a keeper
 * does for a short step. A child that shares it until it executes its program costs nothing of that, but who makes such a child stands
 * still meanwhile, and the child may stand still at what a user named: a FIFO, a file server that is away. So a thread makes it, one at
 * a time, and a keeper waits for the program a moment only. What always holds: the child changes nothing but its own stack and what it
 * was given; where the thread is not free, the child is forked. */
#include "procmgr/keeper/spawn.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <time.h>
#include <unistd.h>

enum { STACK = 128 * 1024, PATIENCE_MS = 200, LOOK_MS = 1 };

static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool started, asked, busy;
	int (*child)(void *arg);
	void *arg;
	pid_t pid; /* written by the kernel when there is a child, -1: there will be none */
	_Alignas(16) char stack[STACK];
} s = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void *serve(void *unused)
{
	(void)unused;
	pthread_mutex_lock(&s.lock);
	for (;;) {
		while (!s.asked)
			pthread_cond_wait(&s.changed, &s.lock);
		s.asked = false;
		pthread_mutex_unlock(&s.lock);
		pid_t pid = clone(s.child, s.stack + STACK, CLONE_VM | CLONE_VFORK | CLONE_PARENT_SETTID | SIGCHLD, s.arg, &s.pid);
		pthread_mutex_lock(&s.lock);
		s.pid = pid;
		s.busy = false;
		pthread_cond_broadcast(&s.changed);
	}
	return NULL;
}

/* The thread takes no signals. */
static bool start(void)
{
	pthread_t thread;
	sigset_t all, before;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	s.started = s.started || pthread_create(&thread, NULL, serve, NULL) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return s.started;
}

/* Under the lock: wait for a change, so many ms at most. */
static bool wait_ms(int ms)
{
	struct timespec until;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += (long)ms * 1000000;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	return pthread_cond_timedwait(&s.changed, &s.lock, &until) == 0;
}

static pid_t share(bool *lent)
{
	s.busy = s.asked = true;
	__atomic_store_n(&s.pid, 0, __ATOMIC_SEQ_CST);
	pthread_cond_broadcast(&s.changed);
	while (s.busy && wait_ms(PATIENCE_MS))
		continue;
	while (s.busy && __atomic_load_n(&s.pid, __ATOMIC_SEQ_CST) == 0)
		wait_ms(LOOK_MS);
	*lent = s.busy;
	return s.pid;
}

#ifdef __SANITIZE_ADDRESS__
enum { SHARES = false }; /* the sanitizer's notes on the stack would be shared too */
#else
enum { SHARES = true };
#endif

pid_t spawn_child(int (*child)(void *arg), void *arg, bool *lent)
{
	bool shares = SHARES && start();
	pid_t pid = 0;
	*lent = false;
	pthread_mutex_lock(&s.lock);
	shares = shares && !s.busy;
	if (shares) {
		s.child = child;
		s.arg = arg;
		pid = share(lent);
	}
	pthread_mutex_unlock(&s.lock);
	if (shares)
		return pid;
	pid = fork();
	if (pid == 0)
		_exit(child(arg));
	return pid;
}
