/* task.h - starts one process of a step (a task or a hook) with all that makes it the user's own. */
#ifndef ROTA_PROCMGR_TASK_H
#define ROTA_PROCMGR_TASK_H

#include <sched.h>
#include <stdbool.h>
#include <sys/types.h>

#include "lib/err.h"
#include "lib/order.h"
#include "procmgr/keeper/cgroups.h"
#include "procmgr/keeper/task_environment.h"
#include "procmgr/keeper/task_limit.h"

/* Find the owner of an order in this node's password database. Refuses a name that has another uid here. */
bool task_owner_find(const struct order *order, struct task_owner *owner, struct err *e);
void task_owner_clear(struct task_owner *owner);

struct task_start {
	const char *path; /* of the program */
	const char *node; /* for error messages */
	char *const *argv;
	char *const *environment;
	const char *folder;		    /* to start in */
	const char *input, *output, *error; /* paths; NULL: /dev/null for input, `out` for the others */
	int out;			    /* descriptor for output and error without a path */
	bool truncate_output, truncate_error;
	int umask;
	const struct task_limit *limits;
	int limit_count;
	const struct task_owner *owner; /* become this user; NULL: stay root (site hooks) */
	const struct cgroups *cgroups;	/* enter the cgroup `key`; NULL: none */
	const char *key;
	bool pinned;			       /* the cgroup has a cpuset */
	const cpu_set_t *cores;		       /* to set as affinity; NULL: none */
	int (*function)(const void *argument); /* to call instead of a program, in a fork; its result is the exit code */
	const void *argument;
};

/* Ignore the signals that must not end a keeper. The launcher has set all others to their defaults. Programs start with
 * defaults. */
void task_ignore_signals(void);

/* Start it in a session of its own. Returns its pid, -1 where it cannot be forked. *report is a descriptor (close-on-exec,
 * non-blocking) that reads end-of-file once the program runs, or the error text if it could not start. *in_use: see
 * spawn_child; what `start` points to must stay. */
pid_t task_start(const struct task_start *start, int *report, bool *in_use, struct err *e);

/* The exit code of a process that did not execute its program. */
enum { TASK_NOT_STARTED = 126 };

#endif
