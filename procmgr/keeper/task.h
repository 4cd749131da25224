/* task.h - one process of a step: a task, a hook; started with everything that makes it the user's own. */
#ifndef ROTA_PROCMGR_TASK_H
#define ROTA_PROCMGR_TASK_H

#include <sched.h>
#include <stdbool.h>
#include <sys/types.h>

#include "lib/err.h"
#include "lib/order.h"
#include "procmgr/keeper/fence.h"
#include "procmgr/keeper/task_environment.h"
#include "procmgr/keeper/task_limit.h"

/* The owner of an order in this node's password database; refuses a name that stands for another uid here. */
bool task_owner_find(const struct order *order, struct task_owner *owner, struct err *e);
void task_owner_clear(struct task_owner *owner);

struct task_start {
	const char *path; /* of the program */
	const char *node; /* where it runs, for what goes wrong */
	char *const *argv;
	char *const *environment;
	const char *folder;		    /* to start in */
	const char *input, *output, *error; /* paths; NULL: /dev/null for input, `out` for the others */
	int out;			    /* descriptor for output and error where they have no path */
	bool truncate_output, truncate_error;
	int umask;
	const struct task_limit *limits;
	int limit_count;
	const struct task_owner *owner; /* become this user; NULL: stay who we are (site hooks) */
	const struct fence *fence;	/* enter the group `key`; NULL: none */
	const char *key;
	bool pinned;		/* the group has cores */
	const cpu_set_t *cores; /* without one: to be kept to; NULL: anywhere */
	int (*function)(const void *argument); /* to call in place of a program, in a fork: its result is the exit code */
	const void *argument;
};

/* Ignore what must not end a keeper. All other signals are as the launcher has set them, to their defaults; those and these are
 * what a program finds. */
void task_ignore_signals(void);

/* Start it in a session of its own. Returns its pid; *report is a descriptor (close-on-exec, non-blocking) that reads
 * as end-of-file once the program runs, or as the text of what went wrong before it could. -1 where it cannot fork. *lent: it has not got far, and
 * what `start` points to has to stay as it is until it has. */
pid_t task_start(const struct task_start *start, int *report, bool *lent, struct err *e);

/* The exit code of a process that did not get as far as running its program. */
enum { TASK_NOT_STARTED = 126 };

#endif
