/* task_environment.h - the environment of tasks and hooks. */
#ifndef ROTA_PROCMGR_TASK_ENVIRONMENT_H
#define ROTA_PROCMGR_TASK_ENVIRONMENT_H

#include <stddef.h>
#include <sys/types.h>

#include "lib/order.h"

/* The user that runs the tasks, from this node's password database. */
struct task_owner {
	uid_t uid;
	gid_t gid;	 /* group under which the job was submitted */
	gid_t login_gid; /* the user's primary group */
	char *user, *home, *shell;
	gid_t *groups; /* all groups of the user */
	int group_count;
};

/* Names of the credential folder and of files in it, for the variables by which a process of the user finds the step's
 * credentials. */
struct task_credentials {
	const char *folder;
	const char *krb5, *x509, *token; /* file name of the first credential of kind krb5, x509, token; NULL: none */
	const char *agent;		 /* name of ssh-agent's socket; NULL: no ssh-agent runs */
};

struct task_facts {
	const struct order *order;
	const struct task_owner *owner;
	const char *cluster;	 /* cluster name, which is the name of the instance */
	const char *tag;	 /* environment tag of the attempt; see record_tag */
	int rank;		 /* rank of the task; -1 for a hook */
	const char *node_file;	 /* path of the file that names the node of each task; NULL if there is none */
	const char *step_socket; /* path of the socket for sub-steps; NULL for a hook */
	const char *submit_host; /* host of the submitting client; set by task_environment */
	/* variables that name the step's credentials; NULL: no credentials, or a site hook */
	const struct task_credentials *credentials;
	const char *tmpdir; /* folder TMPDIR of the attempt; NULL: none, or a site hook */
	bool without_gpus;  /* the suspended step has given its GPUs back, so no variable names them */
};

/* Make the environment for programs of the user: the variables exported at submission (`blob`, "NAME=value\0..."), then HOME,
 * USER, LOGNAME and SHELL of the owner, then Rota's variables (task_variable.def), then the devices of the generic resources.
 * NULL-terminated, malloc'ed. */
char **task_environment(const char *blob, size_t size, const struct task_facts *facts);

/* Make the environment for site hooks, which run as root: a fixed PATH and Rota's variables, but no variable of the user. */
char **task_site_environment(const struct task_facts *facts);

/* Returns the folder for the data of a job with transfers, malloc'ed, or NULL if the instance has none. */
char *task_scratch(const struct order *order);

void task_environment_free(char **environment);

#endif
