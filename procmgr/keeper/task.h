/* task.h - starts one process of a step (a task or a hook) with the user's identity, limits, cgroup, folder and files. */
#ifndef ROTA_PROCMGR_TASK_H
#define ROTA_PROCMGR_TASK_H

#include <sched.h>
#include <stdbool.h>
#include <sys/types.h>

#include "lib/err.h"
#include "lib/order.h"
#include "procmgr/keeper/cgroups.h"
#include "procmgr/keeper/private_folders.h"
#include "procmgr/keeper/task_environment.h"
#include "procmgr/keeper/task_limit.h"

/* Find the owner of a launch request in this node's password database. Refuses a user name that has another uid on this node. */
bool task_owner_find(const struct order *order, struct task_owner *owner, struct err *e);
void task_owner_clear(struct task_owner *owner);

struct task_start {
	const char *path; /* path of the program */
	const char *node; /* node name for error messages */
	char *const *argv;
	char *const *environment;
	const char *folder;		    /* folder in which the program starts */
	const char *input, *output, *error; /* paths; NULL means /dev/null for input, and `out` for output and error */
	int out;			    /* descriptor for output and error if they have no path */
	bool truncate_output, truncate_error;
	int umask;
	const struct task_limit *limits;
	int limit_count;
	const struct task_owner *owner; /* the user that the process becomes; NULL to stay root (site hooks) */
	const struct cgroups *cgroups;	/* cgroups of which the process enters `key`; NULL for none */
	const char *key;
	bool pinned;			       /* the cgroup has a cpuset */
	bool by_env;			       /* the program is a script that env(1) interprets, by its first line */
	const struct private_folders *folders; /* the process's own /tmp and /dev/shm; NULL for those of the machine */
	const cpu_set_t *cores;		       /* CPU affinity of the process; NULL to set none */
	bool may_restore;  /* the process is the first of a PID namespace, and may restore processes there (restore_right.h) */
	const int *passed; /* descriptors that the program gets as 3, 4 and so on */
	int passed_count;
	/* Function to call in a forked child instead of a program; its result is the exit code. */
	int (*function)(const void *argument);
	const void *argument;
};

/* Ignore the signals that must not end a keeper. The launcher has set all other signals to their defaults. Programs start with
 * the default for every signal. */
void task_ignore_signals(void);

/* Start a process in a session of its own. Returns its pid, or -1 if it cannot be forked. *report is a descriptor (close-on-exec,
 * non-blocking) that reads end-of-file once the program runs, or the error text if the program could not start. If *in_use
 * becomes true, all that `start` points to must stay (see spawn_child). */
pid_t task_start(const struct task_start *start, int *report, bool *in_use, struct err *e);

/* The exit code of a process that did not execute its program. */
enum { TASK_NOT_STARTED = 126 };

#endif
