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
	const cpu_set_t *cores; /* NULL: any */
	/* Called in the new process before it executes the program; false with errno: it does not. It shares the memory of this
	 * process, whose only thread waits meanwhile, and allocates none. */
	bool (*begin)(void *arg);
	void *arg;
};

/* Raise the limit of open files of this process. Tasks get the limit that it had, and the default for all signals that it ignores or
 * handles at this call. */
void substep_process_open(void);

/* Start a program in a session of its own. Returns its pid, or -1. */
pid_t substep_process_start(const struct substep_start *start, struct err *e);

/* Send a signal to all processes of the sessions of these tasks. */
void substep_process_signal(const pid_t *pids, int count, int signal);

#endif
