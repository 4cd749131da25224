/* task_limit.h - resource limits as a text, "nofile=1024,core=0,stack=unlimited", and their use. */
#ifndef ROTA_PROCMGR_TASK_LIMIT_H
#define ROTA_PROCMGR_TASK_LIMIT_H

#include <stdbool.h>
#include <sys/resource.h>

#include "lib/err.h"

struct task_limit {
	int resource; /* RLIMIT_... */
	rlim_t soft;  /* as requested */
};

enum { TASK_LIMIT_MOST = 16 };

/* Parse the text. Refuses an unknown name, a name that is given twice, and a value that is no number. */
bool task_limit_parse(const char *text, struct task_limit limits[TASK_LIMIT_MOST], int *count, struct err *e);

/* Set the soft limits of the calling process, none above its hard limit. */
bool task_limit_apply(const struct task_limit *limits, int count, struct err *e);

#endif
