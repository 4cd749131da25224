/* substep_process.h - starts a task of a sub-step, and signals its processes. */
#ifndef ROTA_PROCMGR_SUBSTEP_PROCESS_H
#define ROTA_PROCMGR_SUBSTEP_PROCESS_H

#include <sched.h>
#include <stdbool.h>
#include <sys/types.h>

#include "lib/err.h"

struct substep_start {
	char *const *argv;
	char *const *environment;
	const char *cwd;
	int in, out, err;	/* descriptors for the standard streams */
	const cpu_set_t *cores; /* CPUs on which the task may run; NULL: any */
	/* Called in the new process before that executes the program; false with errno: the program is not executed. The new
	 * process shares the memory of this one, whose only thread waits meanwhile, so this function must not allocate any. */
	bool (*begin)(void *arg);
	void *arg;
};

/* Raise this process's limit of open files. Tasks get the limit before this call, and the default action for all signals that
 * this process ignores or handles at this call. */
void substep_process_open(void);

/* Start a program in a session of its own. Returns the pid of its process, or -1. */
pid_t substep_process_start(const struct substep_start *start, struct err *e);

/* Send a signal to all processes of the sessions of these tasks. */
void substep_process_signal(const pid_t *pids, int count, int signal);

#endif
