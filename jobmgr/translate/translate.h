/* translate.h - translates a script into a plan: steps and the edges between them, submitted in one transaction. The translator
 * is pure: no I/O, no state between calls.
 *
 * The precedence of settings, the highest first:
 *   a script of several steps: #ROTA step line; command line; #ROTA lines before the first step; #SBATCH lines; #PBS lines
 *   a script of one step:      command line; #ROTA step line; #ROTA lines; #SBATCH lines; #PBS lines
 * On the command line, and among lines of one kind, the last setting of an option counts. --mem and --mem-per-cpu displace each
 * other, and so do --after and --dependency. Before the first step or on the command line, --after and --dependency bind the
 * steps that wait for no other step of the script. */
#ifndef ROTA_TRANSLATE_H
#define ROTA_TRANSLATE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/err.h"

/* Size and limits of a partition, for refusing steps that can never run there. */
struct translate_partition {
	const char *name;
	int nodes;
	int64_t cpus;		 /* CPUs of all nodes of the partition together */
	int node_cpus;		 /* CPUs of the partition's node with the most CPUs */
	int64_t node_mem_mb;	 /* MiB of the partition's node with the most memory */
	const json_t *node_gres; /* {"gpu": 2}: most devices of each generic resource on a node; NULL: no devices */
	/* [{"features": ["fast"], "nodes": 3}]: number of nodes that have exactly this set of features; NULL: not known */
	const json_t *features;
	int64_t max_time_s; /* longest time limit of a step in seconds; 0: no limit */
	int max_nodes;	    /* most nodes of a step; 0: no limit */
	bool is_default;
	const char *credentials; /* credentials that the partition's steps need without --cred, separated by commas; NULL: none */
};

struct translate_limits {
	size_t script_bytes;
	int steps, edges;
	int64_t array;	      /* most elements of an array */
	bool know_partitions; /* the partitions are known; false: sizes of steps are not checked */
	int partition_count;
	struct translate_partition *partitions;
	json_t *facts; /* the JSON that the strings of this struct are in, as a reference; NULL: there is none */
};

/* default limits: 4 MiB of script, 10000 steps, 100000 edges, 10 million elements, no partitions */
extern const struct translate_limits translate_limits_default;

/* Read limits from JSON. An absent limit has its default. Release with translate_limits_free.
 *   {"script_bytes", "steps", "edges", "array", "partitions": [{"name", "nodes", "cpus", "node_cpus", "node_mem_mb",
 *     "node_gres": {"gpu": 2}, "features": [{"features": [], "nodes"}], "max_time_s", "max_nodes", "is_default"}]} */
bool translate_limits_read(const json_t *facts, struct translate_limits *limits, struct err *e);
void translate_limits_free(struct translate_limits *limits);

/* A change that the site's script job_submit makes to a submission or a modification, as an option. It counts as the option of
 * the command line, and overrides all other settings of the job, except those on the step lines of a script of several steps. */
struct translate_change {
	const char *field;  /* field of the site's script, for messages */
	const char *option; /* long name of the option, without dashes */
	const char *value;  /* text of the option's value; NULL: the option counts as not given */
};

struct translate_request {
	const char *script; /* bytes of the script, not NUL-terminated */
	size_t size;
	const char *script_name;
	const char *const *options; /* options of the command line: "--time=5", or "--time", "5" */
	int option_count;
	const char *const *arguments; /* arguments of the script: $1, $2, ... of every step */
	int argument_count;
	const char *workdir; /* absolute path of the working directory */
	int umask;
	const char *rlimits;	/* resource limits of the submitting process, see lib/order.h; NULL counts as "" */
	const char *home;	/* home directory, for ~/ in paths; NULL: not known */
	int64_t now;		/* seconds since 1970, for "tomorrow"; see translate_now */
	const char *client_key; /* client key of the submission; NULL: it has none */
	const char *retry_key;	/* retry key of 32 hexadecimal digits, valid for a day; NULL: the submission has none */
	const struct translate_change *changes; /* changes of the site's script */
	int change_count;
	/* Word that begins directives for burst_buffer.lua, such as "BB_LUA"; "": the instance has no burst_buffer.lua; NULL:
	 * not known, so the script is not searched for directives. */
	const char *directive;
	/* settings of rota.conf: staging.scratch (pattern of $ROTA_SCRATCH; "": none), staging.partition (of steps that
	 * transfer data; "": that of the job) and staging.command (program for --mode=command; "": none). NULL: not known, so a
	 * script that needs the setting is not refused. */
	const char *scratch, *mover_partition, *mover_command;
	bool scratch_is_shared; /* staging.shared: staging.scratch is the same folder on all nodes */
	const char
		/* credentials that the user's steps need without --cred, separated by commas; NULL: the user has not set a
		 * default */
		*credentials;
	bool inside; /* the steps are to run as sub-steps of an allocation, so options that sub-steps cannot have are refused */
};

/* Returns the time in seconds since 1970, rounded up, so that nothing begins earlier than "now+10seconds" says. */
int64_t translate_now(void);

struct translate_problem {
	int line;	 /* line of the script; 0: the problem is on the command line, or on no line */
	char option[64]; /* option as written, "--time" or "-l walltime"; "": no option */
	char message[512];
	char hint[256]; /* advice for the user; "": no advice */
};

/* Problems of a script in the order of lines. Problems beyond TRANSLATE_PROBLEMS_MOST are only counted, and reading stops after a
 * thousand refusals. Set the struct to zero before use. */
enum { TRANSLATE_PROBLEMS_MOST = 50 };

struct translate_problems {
	int count;
	int more;
	struct translate_problem *list;
};

void translate_problems_free(struct translate_problems *problems);

/* Returns the problems as JSON for a client: a list with "file", "line", "option", "message" and "hint" of each. `e` is set to
 * the first one (RT422). `file` names the script. If there is a `label`, it names one of several jobs, and replaces `file`. */
json_t *translate_problems_refusal(const struct translate_problems *problems, const char *file, const char *label, struct err *e);

/* First and last line of a step, and of the preamble before the first step. Both are 0 if there is no preamble. */
struct translate_cut {
	char name[65];
	int pre_from, pre_to, from, to;
};

/* Returns the steps of a script with their lines, whatever problems the script has; malloc'ed. */
struct translate_cut *translate_cuts(const char *script, size_t size, int *count);

/* Set `interpreter` to the interpreter on the first line of a script, without arguments, if it is a Bourne shell: "/bin/bash",
 * or "bash" by env. Else it is "". */
void translate_shell_of(const char *script, size_t size, char interpreter[128]);

/* Describe what a request asks for, before its changes and without a plan. Without a script, only its options are read. Returns
 * NULL if there is any problem of reading, or else:
 *   {"name": default name of the job,
 *    "options": {"time": 300, ...} the options that count for the job, by their names in options.def, as option_value() has them,
 *    "steps": [{"name", "line", "options"}] the steps of a script of several, each with the options of its own line} */
json_t *translate_describe(const struct translate_request *request, const struct translate_limits *limits,
			   struct translate_problems *problems);

/* Translate a script. Returns the plan, or NULL if there is any problem:
 *   {"job": {...}, "spec_end": TEXT, "common": {...}, "steps": [{...}], "edges": [{...}], "warnings": [{...}]}
 * A step has the members of "common", except members that the step has itself. The spec of a step is its "spec" followed by the
 * plan's "spec_end". If the step has a number "spec_end" of its own, only so many last characters of the plan's "spec_end"
 * follow. An edge has no empty members. "warnings" have the form of a refusal's problems, and are absent if there are none. */
json_t *translate_script(const struct translate_request *request, const struct translate_limits *limits,
			 struct translate_problems *problems);

/* Returns the whole spec of a step of a plan, malloc'ed. */
char *translate_plan_spec(const json_t *plan, const json_t *step);

/* Expand a plan: each step and edge gets all its members, each step its whole "spec", and "common" is removed. */
void translate_plan_whole(json_t *plan);

/* Change a step (an object of "steps" of a plan that translate_plan_whole() expanded) by request->options. Of the request, only
 * options, workdir, home and now are used. Returns NULL if there is any problem, or else:
 *   {"step": the whole step as changed, new spec included,
 *    "job": {"name", "account", "qos", "comment", "mail_user", "mail_type", "nice", "priority"} as far as changed,
 *    "options": ["time", ...] the options given, by their names in options.def}
 * Peers, the environment and the indices of an array cannot be changed; its %limit can. */
json_t *translate_modify(const struct translate_request *request, const struct translate_limits *limits, const json_t *step,
			 struct translate_problems *problems);

/* Returns the part of an environment, a list of "NAME=value", that --export=LIST lets through, or NULL with an error if LIST is
 * malformed. */
json_t *translate_export(const char *list, const json_t *environment, struct err *e);

#endif
