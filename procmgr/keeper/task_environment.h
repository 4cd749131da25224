/* task_environment.h - the variables that tasks and hooks start with. */
#ifndef ROTA_PROCMGR_TASK_ENVIRONMENT_H
#define ROTA_PROCMGR_TASK_ENVIRONMENT_H

#include <stddef.h>
#include <sys/types.h>

#include "lib/order.h"

/* Who runs the tasks, as this node's password database has it. */
struct task_owner {
	uid_t uid;
	gid_t gid;	 /* that the job was submitted in */
	gid_t login_gid; /* of the user in the password database */
	char *user, *home, *shell;
	gid_t *groups; /* all that the user is in */
	int group_count;
};

struct task_facts {
	const struct order *order;
	const struct task_owner *owner;
	const char *cluster;   /* name of the instance */
	const char *mark;      /* of the attempt on this machine; see record_mark */
	int rank;	       /* of the task; -1: a hook */
	const char *node_file; /* names the node of each task; NULL: there is none */
	const char *submit_host; /* for task_environment to fill in */
};

/* For what runs as the user: `blob` ("NAME=value\0..." as exported at submission), then the owner's HOME, USER, LOGNAME and
 * SHELL, then what Rota sets (task_variable.def), then the devices of the generic resources. NULL-terminated, malloc'ed. */
char **task_environment(const char *blob, size_t size, const struct task_facts *facts);

/* For what runs as root: a fixed PATH and what Rota sets; nothing that a user could have named. */
char **task_site_environment(const struct task_facts *facts);

void task_environment_free(char **environment);

#endif
