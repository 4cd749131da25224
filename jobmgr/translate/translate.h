/* translate.h - from a script to a plan: steps with peer constraints, ready to be submitted in one transaction. Pure: no I/O,
 * nothing kept between calls.
 *
 * Who says what of an option, from strong to weak:
 *   a script of several steps: #ROTA step line; command line; #ROTA lines before the first step; #SBATCH lines; #PBS lines
 *   a script of one step:      command line; #ROTA step line; #ROTA lines; #SBATCH lines; #PBS lines
 * On the command line, and among lines of one kind, the last one counts. --mem and --mem-per-cpu, and --after and
 * --dependency, displace each other. --after and --dependency before the first step, or on the command line, bind the steps
 * that wait for no other step of the script. */
#ifndef ROTA_TRANSLATE_H
#define ROTA_TRANSLATE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/err.h"

/* What a partition has, so that what can never run is refused. */
struct translate_partition {
	const char *name;
	int nodes;
	int64_t cpus;		 /* of all nodes */
	int node_cpus;		 /* of the node that has most */
	int64_t node_mem_mb;	 /* of the node that has most */
	const json_t *node_gres; /* {"gpu": 2}: most on a node; NULL = none */
	const json_t *features;	 /* [{"features": ["fast"], "nodes": 3}]: which nodes have which; NULL = not known */
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
	json_t *facts; /* owner of the strings, NULL = none */
};

extern const struct translate_limits translate_limits_default; /* 4 MiB, 10000, 100000, 10 million, no partitions */

/* Limits from JSON, what is absent being the default. translate_limits_free releases it.
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
	const char *rlimits;	/* see lib/order.h; NULL = "" */
	const char *home;	/* for ~/ in paths; NULL = not known */
	int64_t now;		/* seconds since 1970, for "tomorrow" */
	const char *client_key; /* NULL = none */
	const char *retry_key;	/* the same, known for a day: 32 hexadecimal digits */
};

struct translate_problem {
	int line;	 /* of the script; 0: of the command line, or of no line */
	char option[64]; /* as written, "--time" or "-l walltime"; "" where no option is at fault */
	char message[512];
	char hint[256]; /* "" = none */
};

/* Problems, in the order of lines; those beyond TRANSLATE_PROBLEMS_MOST are counted only, and behind a thousand the reading
 * ends. Zero it before use. */
enum { TRANSLATE_PROBLEMS_MOST = 50 };

struct translate_problems {
	int count;
	int more;
	struct translate_problem *list;
};

void translate_problems_free(struct translate_problems *problems);

/* What clients are told of problems: the list of all, with "file", "line", "option", "message" and "hint" of each, and as the error
 * (RT422) the first. `file` is where the lines are; with a `label`, one of several requests is refused, and all problems are called
 * by it. */
json_t *translate_problems_refusal(const struct translate_problems *problems, const char *file, const char *label, struct err *e);

/* The lines of a step and of the preamble, which stands before the first step; first and last, 0 and 0 where there is none. */
struct translate_cut {
	char name[65];
	int pre_from, pre_to, from, to;
};

/* Where directives cut the script, however many problems it has; malloc'ed. */
struct translate_cut *translate_cuts(const char *script, size_t size, int *count);

/* Is it a script for a shell of the Bourne kind? Its interpreter, without arguments: "/bin/bash", or "bash" by env; "" = it is none. */
void translate_shell_of(const char *script, size_t size, char interpreter[128]);

/* The plan, NULL when there is any problem:
 *   {"job": {...}, "spec_end": TEXT, "common": {...}, "steps": [{...}], "edges": [{...}], "warnings": [{...}]}
 * A step asks for what "common" says, but for what it says itself. Its spec is its "spec" and, behind that, the plan's "spec_end", or so many
 * of the last characters of that as its own "spec_end" says. An edge has no member that says nothing. "warnings" are like the problems of
 * a refusal, and absent where there are none. */
json_t *translate_script(const struct translate_request *request, const struct translate_limits *limits,
			 struct translate_problems *problems);

/* The whole spec of a step of a plan; malloc'ed. */
char *translate_plan_spec(const json_t *plan, const json_t *step);

/* Make a plan of the translator one without "common": each step and edge has all its members, and the steps their whole "spec". */
void translate_plan_whole(json_t *plan);

/* A step as it stands (an object of a whole plan's "steps") changed by request->options; of the request, only
 * options, workdir, home and now count. The answer, NULL when there is any problem:
 *   {"step": the whole step as changed, new spec included,
 *    "job": {"name", "account", "qos", "comment", "mail_user", "mail_type", "nice", "priority"} as far as changed,
 *    "options": ["time", ...] what was given, by the names of options.def}
 * Peers, the environment and an array's indices cannot be changed (an array's %limit can). */
json_t *translate_modify(const struct translate_request *request, const struct translate_limits *limits, const json_t *step,
			 struct translate_problems *problems);

/* What --export=LIST lets through of an environment, a list of "NAME=value". NULL with an error when LIST is malformed. */
json_t *translate_export(const char *list, const json_t *environment, struct err *e);

#endif
