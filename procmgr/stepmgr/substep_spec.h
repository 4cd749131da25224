/* substep_spec.h - what a request `run` of the step protocol asks for (docs/step-protocol.md). */
#ifndef ROTA_PROCMGR_SUBSTEP_SPEC_H
#define ROTA_PROCMGR_SUBSTEP_SPEC_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/err.h"
#include "procmgr/stepmgr/substep_ranks.h"

enum {
	SUBSTEP_TASKS_MOST = 65536,
	SUBSTEP_KEY_SIZE = 81,
	SUBSTEP_WINDOW_MOST = 10000,
	SUBSTEP_LINES_MOST = 10000,
	SUBSTEP_SESSION_SIZE = 65
};

/* The part of a sub-step that the step manager asks an agent to run: which of its tasks. */
struct substep_part_spec {
	int number; /* number of the sub-step in the step manager; 0: the request is for a sub-step of this process */
	int total;  /* number of tasks of the sub-step on all nodes */
	struct substep_ranks ranks;
};

/* A checked request. The texts are parts of `request`, and valid as long as the spec. */
struct substep_spec {
	json_t *request;	    /* owned */
	json_t *env;		    /* owned; a list of NAME=value */
	const json_t *argv, *multi; /* one of them is NULL */
	const char *cwd, *name, *key, *gres, *cpu_bind, *after, *output, *error, *input;
	const char *session; /* name of the session; the name of the sub-step if the request has none */
	const char *nodelist, *exclude, *distribution;
	int ntasks, cpus_per_task, priority, retry;
	int nodes, ntasks_per_node; /* 0: any */
	int plane;		    /* blocks of so many tasks go to the nodes in turns; 0: the tasks of a node are consecutive */
	int notify;		    /* number of the signal to send at each change of a node; 0: none */
	int input_task;		    /* the only task that gets input of the client; -1: all do */
	int64_t mem_mb, time_s, wait_s, idle_timeout_s; /* 0: no limit */
	int rows, cols;					/* size of the terminal; 0: no terminal */
	bool exclusive, overlap, kill_on_bad_exit, detach;
	struct substep_part_spec part; /* part of a sub-step, if the step manager of the step's first node has sent the request */
};

/* Check a request. `env` and `cwd` are those of the connection; the request's own ones replace them. Returns NULL and the reason
 * if the request is not valid. Takes references to `request` and `env`. */
struct substep_spec *substep_spec_parse(json_t *request, json_t *env, const char *cwd, struct err *e);
void substep_spec_free(struct substep_spec *spec);

/* Returns the list of arguments of the task with this rank, or NULL if `multi` does not name the rank. */
const json_t *substep_spec_argv(const struct substep_spec *spec, int rank);

/* Returns the command for people: the arguments with blanks between, at most `size` - 1 bytes. */
void substep_spec_command(const struct substep_spec *spec, char *text, size_t size);

#endif
