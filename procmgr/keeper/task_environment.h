/* task_environment.h - the environment of tasks and hooks. */
#ifndef ROTA_PROCMGR_TASK_ENVIRONMENT_H
#define ROTA_PROCMGR_TASK_ENVIRONMENT_H

#include <stddef.h>
#include <sys/types.h>

#include "lib/order.h"

/* The user that runs the tasks, from this node's password database. */
struct task_owner {
	uid_t uid;
	gid_t gid;	 /* under which the job was submitted */
	gid_t login_gid; /* the user's primary group */
	char *user, *home, *shell;
	gid_t *groups; /* all groups of the user */
	int group_count;
};

struct task_facts {
	const struct order *order;
	const struct task_owner *owner;
	const char *cluster;	 /* name of the instance */
	const char *tag;	 /* of the attempt on this machine; see record_tag */
	int rank;		 /* of the task; -1: a hook */
	const char *node_file;	 /* file that names the node of each task; NULL: there is none */
	const char *submit_host; /* set by task_environment */
};

/* For programs of the user: `blob` ("NAME=value\0...", as exported at submission), then HOME, USER, LOGNAME and SHELL of the
 * owner, then Rota's variables (task_variable.def), then the devices of the generic resources. NULL-terminated, malloc'ed. */
char **task_environment(const char *blob, size_t size, const struct task_facts *facts);

/* For programs of root: a fixed PATH and Rota's variables; nothing that a user could have named. */
char **task_site_environment(const struct task_facts *facts);

void task_environment_free(char **environment);

#endif
