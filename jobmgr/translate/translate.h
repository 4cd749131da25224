/* translate.h - translates a script into a plan: steps and the edges between them, submitted in one transaction. Pure: no I/O, no state
 * between calls.
 *
 * The precedence of settings, the highest first:
 *   a script of several steps: #ROTA step line; command line; #ROTA lines before the first step; #SBATCH lines; #PBS lines
 *   a script of one step:      command line; #ROTA step line; #ROTA lines; #SBATCH lines; #PBS lines
 * On the command line, and among lines of one kind, the last setting counts. --mem and --mem-per-cpu displace each other, and so do --after
 * and --dependency. Before the first step or on the command line, --after and --dependency bind the steps that wait for no other step of the
 * script. */
#ifndef ROTA_TRANSLATE_H
#define ROTA_TRANSLATE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/err.h"

/* A partition, to refuse what can never run in it. */
struct translate_partition {
	const char *name;
	int nodes;
	int64_t cpus;		 /* of all nodes */
	int node_cpus;		 /* most on a node */
	int64_t node_mem_mb;	 /* most on a node */
	const json_t *node_gres; /* {"gpu": 2}: most on a node; NULL: none */
	const json_t *features;	 /* [{"features": ["fast"], "nodes": 3}]: how many nodes have which; NULL: not known */
	int64_t max_time_s;	 /* 0 = no limit */
	int max_nodes;		 /* 0 = no limit */
	bool is_default;
};

struct translate_limits {
	size_t script_bytes;
	int steps, edges;
	int64_t array;	      /* elements */
	bool know_partitions; /* false: sizes are not checked */
	int partition_count;
	struct translate_partition *partitions;
	json_t *facts; /* owner of the strings; NULL: none */
};

extern const struct translate_limits translate_limits_default; /* 4 MiB, 10000, 100000, 10 million, no partitions */

/* Read limits from JSON; absent ones are the default. Release with translate_limits_free.
 *   {"script_bytes", "steps", "edges", "array", "partitions": [{"name", "nodes", "cpus", "node_cpus", "node_mem_mb",
 *     "node_gres": {"gpu": 2}, "features": [{"features": [], "nodes"}], "max_time_s", "max_nodes", "is_default"}]} */
bool translate_limits_read(const json_t *facts, struct translate_limits *limits, struct err *e);
void translate_limits_free(struct translate_limits *limits);

struct translate_request {
	const char *script; /* bytes; not NUL-terminated */
	size_t size;
	const char *script_name;
	const char *const *options; /* of the command line: "--time=5", or "--time", "5" */
	int option_count;
	const char *const *arguments; /* of the script: $1, $2, ... of every step */
	int argument_count;
	const char *workdir; /* absolute */
	int umask;
	const char *rlimits;	/* see lib/order.h; NULL: "" */
	const char *home;	/* for ~/ in paths; NULL: not known */
	int64_t now;		/* seconds since 1970, for "tomorrow" */
	const char *client_key; /* NULL: none */
	const char *retry_key;	/* 32 hexadecimal digits, valid for a day; NULL: none */
};

struct translate_problem {
	int line;	 /* of the script; 0: of the command line, or none */
	char option[64]; /* as written, "--time" or "-l walltime"; "": none */
	char message[512];
	char hint[256]; /* "": none */
};

/* Problems in the order of lines. Those beyond TRANSLATE_PROBLEMS_MOST are only counted, and after a thousand refusals reading stops. Zero
 * it before use. */
enum { TRANSLATE_PROBLEMS_MOST = 50 };

struct translate_problems {
	int count;
	int more;
	struct translate_problem *list;
};

void translate_problems_free(struct translate_problems *problems);

/* Problems as an answer: a list with "file", "line", "option", "message" and "hint" of each, and the first one as the error (RT422).
 * `file` names the script. A `label` names one of several jobs, and stands before each problem instead. */
json_t *translate_problems_refusal(const struct translate_problems *problems, const char *file, const char *label, struct err *e);

/* First and last line of a step, and of the preamble before the first step; 0 and 0: there is none. */
struct translate_cut {
	char name[65];
	int pre_from, pre_to, from, to;
};

/* The steps of a script, whatever problems it has; malloc'ed. */
struct translate_cut *translate_cuts(const char *script, size_t size, int *count);

/* The interpreter of a script for a Bourne shell, without arguments: "/bin/bash", or "bash" by env; "": it is for another program. */
void translate_shell_of(const char *script, size_t size, char interpreter[128]);

/* The plan, NULL when there is any problem:
 *   {"job": {...}, "spec_end": TEXT, "common": {...}, "steps": [{...}], "edges": [{...}], "warnings": [{...}]}
 * A step has the members of "common", except those that it has itself. Its spec is its "spec" followed by the plan's "spec_end", or by as
 * many of the last characters of that as its own "spec_end" says. An edge has no empty members. "warnings" have the form of a refusal's
 * problems, and are absent where there are none. */
json_t *translate_script(const struct translate_request *request, const struct translate_limits *limits,
			 struct translate_problems *problems);

/* The whole spec of a step of a plan; malloc'ed. */
char *translate_plan_spec(const json_t *plan, const json_t *step);

/* Expand a plan: each step and edge gets all its members, each step its whole "spec", and "common" is removed. */
void translate_plan_whole(json_t *plan);

/* Change a step (an object of an expanded plan's "steps") by request->options. Of the request, only options, workdir, home and now are
 * used. The answer, NULL when there is any problem:
 *   {"step": the whole step as changed, new spec included,
 *    "job": {"name", "account", "qos", "comment", "mail_user", "mail_type", "nice", "priority"} as far as changed,
 *    "options": ["time", ...] those given, by the names of options.def}
 * Peers, the environment and the indices of an array cannot be changed; its %limit can. */
json_t *translate_modify(const struct translate_request *request, const struct translate_limits *limits, const json_t *step,
			 struct translate_problems *problems);

/* The part of an environment, a list of "NAME=value", that --export=LIST lets through. NULL with an error where LIST is malformed. */
json_t *translate_export(const char *list, const json_t *environment, struct err *e);

#endif
