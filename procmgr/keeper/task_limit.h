/* task_limit.h - parses and sets resource limits, written as "nofile=1024,core=0,stack=unlimited". */
#ifndef ROTA_PROCMGR_TASK_LIMIT_H
#define ROTA_PROCMGR_TASK_LIMIT_H

#include <stdbool.h>
#include <sys/resource.h>

#include "lib/err.h"

struct task_limit {
	int resource; /* a resource of setrlimit, RLIMIT_... */
	rlim_t soft;  /* soft limit as requested by the user */
};

enum { TASK_LIMIT_MOST = 16 };

/* Parse a text of resource limits. Refuses an unknown name, a name that occurs twice, and a value that is neither a number nor
 * "unlimited". */
bool task_limit_parse(const char *text, struct task_limit limits[TASK_LIMIT_MOST], int *count, struct err *e);

/* Set the soft resource limits of the calling process, none of them above its hard limit. */
bool task_limit_apply(const struct task_limit *limits, int count, struct err *e);

#endif
