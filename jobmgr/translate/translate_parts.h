/* translate_parts.h - the data of a translation under way, and the functions that the files of the translator share. For
 * translate*.c only. */
#ifndef ROTA_TRANSLATE_PARTS_H
#define ROTA_TRANSLATE_PARTS_H

#include "jobmgr/translate/option.h"
#include "jobmgr/translate/translate.h"

enum { TRANSLATE_LINE_SITE = -1 /* in place of a line number: the site's script has set the option */ };

/* The setting of one option, on the command line or in the script. */
struct translate_setting {
	json_t *value; /* value from option_value(), which may be JSON null; NULL: the option was not given */
	int line;      /* line of the script; 0: command line; or TRANSLATE_LINE_SITE */
	bool total;    /* the value is the memory of all nodes together, as PBS counts it */
	char *written; /* the option as it was written, "-d" or "-l walltime", malloc'ed; NULL: as "--" and its name */
};

struct translate_set {
	struct translate_setting of[OPTION_SETTINGS];
};

enum translate_kind { TRANSLATE_AFTER, TRANSLATE_WITH, TRANSLATE_SAME_NODES, TRANSLATE_OTHER_NODES };
enum translate_condition {
	TRANSLATE_OK,
	TRANSLATE_ANY,
	TRANSLATE_FAIL,
	TRANSLATE_START,
	TRANSLATE_CORR,
	TRANSLATE_TEARDOWN, /* only if the peer is a whole other job: it has ended, and its staged data has been removed */
	TRANSLATE_SINGLETON
};

struct translate_edge {
	enum translate_kind kind;
	enum translate_condition condition;
	int step;	    /* index of the step that names the peer */
	int peer;	    /* index of the peer; -1: the peer is in another job */
	int64_t peer_job;   /* job of the peer; 0: the same job or, for a singleton, all jobs of the same name */
	char *peer_name;    /* name of the peer in another job; NULL: the whole job is the peer */
	const char *option; /* option that names the peer; "": no option, in a plain sequence of steps */
	int line;
};

struct translate_step {
	char name[65];
	int line, last_line;
	struct translate_set own; /* settings from the step's own line */
	bool deps_any;
	int first_edge, edge_count; /* index and number of the step's edges in t->edges */
	int with;		    /* gang of the step: the lowest index of the steps that start with it, itself included */
	int same;		    /* lowest index of the steps on the same nodes, this step included */
	int next_with;		    /* index of the next step of the same gang; -1: this step is the last one */
	/* position in a topological order: higher than the positions of all steps that this step waits for */
	int topo;
	int id;
	int64_t elements; /* number of elements of an array; 0: the step is no array */
	bool nodes_named;
	/* Only in a script with transfers. is_first: the step waits for no other step of the script; is_last: no step waits for
	 * it; moves: its nodes make transfers. */
	bool is_first, is_last, moves;
	int64_t nodes_min, nodes_max; /* fewest and most nodes; nodes_max 0: as many nodes as the tasks need */
	/* numbers of tasks and of CPUs per task; 0 until translate_size_steps() is done, if not given */
	int64_t ntasks, ntasks_per_node, cpus_per_task;
};

enum translate_direction { TRANSLATE_STAGE_IN, TRANSLATE_STAGE_OUT, TRANSLATE_STAGE_DROP, TRANSLATE_DIRECTIONS };
enum { TRANSLATE_MODE_COPY, TRANSLATE_MODE_RSYNC, TRANSLATE_MODE_LINK, TRANSLATE_MODE_COMMAND, TRANSLATE_MODES };
enum { TRANSLATE_KEEP, TRANSLATE_OUT, TRANSLATE_DROP, TRANSLATE_POLICIES };
enum { TRANSLATE_TRANSFERS_MOST = 100 };

/* Names of the directions, modes and failure policies of transfers, in script lines, plans and specs. */
extern const char *const translate_directions[TRANSLATE_DIRECTIONS], *const translate_modes[TRANSLATE_MODES],
									     *const translate_policies[TRANSLATE_POLICIES];

/* A line "#ROTA stage-in" or the like. */
struct translate_transfer {
	enum translate_direction direction;
	int number;		    /* number of the transfer in the job, from 1 */
	int mode;		    /* TRANSLATE_MODE_... */
	int on_fail;		    /* TRANSLATE_KEEP and so on: what becomes of the data when the job fails */
	char *source, *destination; /* paths of the transfer in the form that rota-mover takes; the destination of a drop is "" */
	bool checksum, reuse;
	json_t *time;	 /* time limit of the transfer's step; NULL: that of the partition */
	json_t *mem;	 /* memory of the transfer's step; NULL: 512 MiB */
	int64_t for_job; /* a repeated transfer: job and number of the earlier transfer; 0: the transfer repeats none */
	int for_number;
	int line;
	int step;    /* index of the step below whose line the transfer stands; -1: the transfer is of the whole job */
	int made_by; /* index of the step that makes the transfer; -1: the nodes of the job's steps make it */
};

/* Space that a job requests of a pool of burst_buffer.lua. */
struct translate_pool {
	char *name;	  /* name of the pool; NULL: no space is requested */
	int64_t capacity; /* bytes */
	int line;	  /* line of the latest directive that requests space; 0: --bb on the command line requests it */
};

struct translation {
	const struct translate_request *request;
	const struct translate_limits *limits;
	struct translate_problems *problems;
	struct translate_problems warnings;
	struct option_context context;
	struct translate_set command, rota, slurm, pbs;
	bool has_steps;	 /* the script has a line #ROTA step */
	bool modifies;	 /* a submitted step is being changed */
	bool is_read;	 /* all options were read, so problems name them as they were written */
	bool sequence;	 /* no step names peers, so each step waits for the step before it */
	int header_last; /* number of the last line before the first step */
	struct translate_step *steps;
	int step_count, step_capacity;
	char *arguments;	      /* arguments of the script, as in a spec; NULL: no arguments */
	char *staging;		      /* directives for burst_buffer.lua, one a line; NULL: none */
	const char *staging_inserted; /* value of --bb, if it has a directive for burst_buffer.lua; else NULL */
	struct translate_pool pool;   /* space of a pool that the directives request */
	struct translate_transfer *transfers;
	int transfer_count;
	int generated; /* number of steps at the end of `steps` that make transfers */
	int refused;   /* number of refusals, repeated ones of one problem included */
	int latest;    /* index of the problem of the latest refusal; -1: the problem was listed before */
	struct translate_edge *edges;
	int edge_count, edge_capacity;
};

/* translation.c */
void translation_init(struct translation *t, const struct translate_request *request, const struct translate_limits *limits,
		      struct translate_problems *problems);
void translation_clear(struct translation *t);
struct translate_step *translation_add_step(struct translation *t, const char *name, int line);

/* translate_problem.c: add a problem with the text of an error, or with a text of its own. Line 0 and option "" mean no line and
 * no option. Returns true if the problem is now listed, so that a hint is useful. */
bool translate_problem(struct translation *t, int line, const char *option, const struct err *e);
bool translate_refuse(struct translation *t, int line, const char *option, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* Were so many options refused that reading stops? Readers of long lists call this before each item. */
bool translate_has_enough_problems(const struct translation *t);

/* Add a warning: the option has another effect than the user may expect. With --strict it becomes a refusal. */
void translate_warn(struct translation *t, int line, const char *option, const char *what, const char *why);

/* Turn each warning into a refusal. */
void translate_refuse_warnings(struct translation *t);

/* Returns the warnings as JSON, in the form of the problems of a refusal. */
json_t *translate_warnings_json(struct translation *t);

/* Add a hint to the problem that was added last, unless it had been listed before. */
void translate_hint(struct translation *t, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Sort problems by line. Problems of one line stay in the order in which they were found. */
void translate_problems_sort(struct translate_problems *problems);

/* translate_words.c: the words of a directive, malloc'ed. */
struct translate_words {
	char *text;
	const char **list;
	int count;
};
bool translate_words(const char *text, size_t size, struct translate_words *words, struct err *e);
void translate_words_free(struct translate_words *words);

/* translate_shell.c: the state of a reader of a shell script that finds here-documents; all 0 at the beginning. */
struct translate_document {
	char word[64]; /* the line that ends the here-document */
	bool tabs;     /* begun by "<<-": the line that ends the here-document may begin with tabs */
};
struct translate_shell {
	char stack[64]; /* quotes and parentheses that are open at this point of the script */
	int depth;
	struct translate_document documents[8]; /* here-documents that begin after the line being read */
	int count, misses;
};
/* Close all open quotes and parentheses after a directive was read. */
void translate_shell_reset(struct translate_shell *s);
/* Does the next line of the script begin in a quoted text? */
bool translate_shell_is_quoted(const struct translate_shell *s);
/* Read a line of `size` bytes, which is followed by `text`. Returns the text after the here-documents that the line begins, and
 * adds the number of their lines to *number. */
const char *translate_shell_read(struct translate_shell *s, const char *line, size_t size, const char *text, const char *end,
				 int *number);

/* translate_set.c: read options from words into a set. `own`: the set of a step's own line. */
void translate_set_read(struct translation *t, struct translate_set *set, enum option_spelling spelling, const char *const *words,
			int count, int line, bool own);
/* Set one option in a set of settings, from the text of its value. */
void translate_set_value(struct translation *t, struct translate_set *set, const struct option_row *row, const char *text,
			 int line);
void translate_set_clear(struct translate_set *set);
void translate_setting_clear(struct translate_setting *setting);

/* translate_site.c: make the changes of the site's script to the options that were read. */
void translate_site(struct translation *t);

/* Returns the setting of an option that takes effect for a step, and its rank (0: highest precedence), or NULL if the option was
 * not given. */
const struct translate_setting *translate_find_setting(const struct translation *t, const struct translate_step *s,
						       enum option_id id, int *rank);
/* Returns the value of that setting, or NULL if the option was not given or its value is JSON null. translate_number() returns
 * the value as a number. */
json_t *translate_value(const struct translation *t, const struct translate_step *s, enum option_id id);
int64_t translate_number(const struct translation *t, const struct translate_step *s, enum option_id id, int64_t otherwise);
int translate_find_line(const struct translation *t, const struct translate_step *s, enum option_id id);

/* translate_written.c: returns how an option, named as "--name", was written on a line, or `option` where it was written so. */
const char *translate_written(const struct translation *t, int line, const char *option);
/* Returns how options were written that the database may refuse, as {"LINE": {"name": "-N"}}; NULL: as "--" and their names. */
json_t *translate_written_json(const struct translation *t);

/* Turn all warnings into refusals if --strict was given or a submitted step is changed. */
void translate_strict(struct translation *t);

/* Returns which of two mutually exclusive options takes effect for a step: the one with the higher precedence, -1 if neither was
 * given. Adds a problem if both have the same precedence. */
int translate_choose_rival(struct translation *t, const struct translate_step *s, enum option_id a, enum option_id b);

/* translate.c: check the client's working directory. */
void translate_check_folder(struct translation *t);
/* translate_plan.c: returns the last part of a path, the default name of a job. */
const char *translate_base_name(const char *path);

/* The stages of a translation, in their order. */
void translate_read(struct translation *t);	  /* translate_read.c: from lines of the script to sets of options and steps */
void translate_peers(struct translation *t);	  /* translate_peer.c: from settings of steps to edges */
void translate_graph(struct translation *t);	  /* translate_graph.c: gangs, cycles, topological order */
void translate_size_steps(struct translation *t); /* translate_size.c: nodes, tasks, arrays, ids and times of steps */
void translate_fit(struct translation *t);	  /* translate_fit.c: checks steps against the partitions */
json_t *translate_plan(struct translation *t);	  /* translate_plan.c: the plan as JSON */

/* translate_staging.c: find the directives for burst_buffer.lua, after translate_size_steps(); write them into the plan's job. */
void translate_staging(struct translation *t);
void translate_staging_json(const struct translation *t, json_t *job);

/* translate_transfer_read.c: read a script line that transfers data. Returns false if it is not such a line. */
bool translate_transfer_read(struct translation *t, int line, const struct translate_words *words);

/* translate_transfer.c */
struct translate_transfer *translate_transfer_add(struct translation *t);
void translate_transfers_clear(struct translation *t);
/* Is a path of a transfer in $ROTA_SCRATCH? */
bool translate_transfer_in_scratch(const char *path);
/* Does a transfer concern this step? A transfer of one step concerns that step. Of the whole job's transfers, a stage-in concerns
 * the steps that wait for no other step; a stage-out, or the removal of the folder, those for which no step waits. */
bool translate_transfer_is_about(const struct translation *t, const struct translate_transfer *x, int step);
/* Is the transfer made by this step, or by the nodes of this step? */
bool translate_transfer_is_of(const struct translation *t, const struct translate_transfer *x, int step);
/* Write the transfers into the plan's job. */
void translate_transfers_json(const struct translation *t, json_t *job);
/* Returns the text of the transfers that a step makes, for its spec, malloc'ed; NULL: the job has none. */
char *translate_transfers_spec(const struct translation *t, const struct translate_step *s);

/* translate_transfer_steps.c: add the steps that make transfers, after translate_peers. */
void translate_transfers(struct translation *t);

/* translate_pool.c: add the space that a directive requests, "pool=NAME capacity=SIZE", to t->pool, or refuse it. `line`: 0 on
 * the command line. */
void translate_pool(struct translation *t, const char *directive, int line);

/* translate_inside.c: refuse options that sub-steps cannot have. */
void translate_inside(struct translation *t);
/* Refuse numbers of nodes that sub-steps cannot have. Called after translate_size_steps. */
void translate_inside_sizes(struct translation *t);

/* translate_fit_same.c: check steps on the same nodes. Returns, by index translate_step.same, the nodes that --nodelist and
 * --exclude of all steps on the same nodes leave, as {"n1": true}; NULL: not known. Called by translate_fit(). */
json_t **translate_fit_same(struct translation *t, const int *partitions);

/* translate_fit_runs.c: does `peer` certainly have or had nodes whenever `step` runs? False if the peer may be skipped. */
bool translate_fit_runs(const struct translation *t, int step, int peer);

/* translate_fit_others.c: check --other-nodes against the nodes of the partitions and the lists of translate_fit_same(). Called
 * by translate_fit(). */
void translate_fit_others(struct translation *t, const int *partitions, json_t *const *lists);

/* translate_plan.c: write the plan's members of the job, all of them or only those of which the option was given. */
void translate_job_json(struct translation *t, json_t *job, bool only_given);

struct order_spec;
/* translate_checkpoint.c: refuse checkpoint options of a step that do not go together. */
void translate_checkpoint_check(struct translation *t, const struct translate_step *s);
/* Returns the folder for the checkpoints of a step, from the option or the default; NULL if the step has no --checkpoint. */
const char *translate_checkpoint_dir(const struct translation *t, const struct translate_step *s);
/* Can the driver of a step restore the program itself? A restored program goes on writing its output files, so each attempt
 * appends to them. */
bool translate_checkpoint_appends(const struct translation *t, const struct translate_step *s);
/* Set the members of a spec about checkpoints. `dir`: the absolute path of their folder; NULL if the step has none. */
void translate_checkpoint_spec(const struct translation *t, const struct translate_step *s, const char *dir,
			       struct order_spec *spec);
/* Returns the plan's member about the checkpoints of a step; JSON null if the step has no --checkpoint. */
json_t *translate_checkpoint_json(const struct translation *t, const struct translate_step *s);

/* translate_step.c: returns the members of the plan with the requests of a step, without its spec. */
json_t *translate_step_asks(struct translation *t, const struct translate_step *s);
/* asks_nothing: has the step's own line only options that name peers? asks_alike: have two steps such lines and the same size,
 * and so request the same? */
bool translate_step_asks_nothing(const struct translate_step *s);
bool translate_step_asks_alike(const struct translate_step *a, const struct translate_step *b);
/* Returns the line numbers of those of the options `ids` that were given, such as {"licenses": 3}: only the database can check
 * these. Line 0 is the command line. */
json_t *translate_lines_json(const struct translation *t, const struct translate_step *s, const enum option_id *ids,
			     size_t count);

/* Returns the number of GPUs that a step requests on each node. */
int64_t translate_gpus(struct translation *t, const struct translate_step *s);

/* Returns the MiB of memory that a step requests on a node on which it has `tasks` tasks; 0: none, or all memory of the node. */
int64_t translate_memory(struct translation *t, const struct translate_step *s, int64_t tasks);

/* translate_feature.c: does a node with these features (a list of strings) meet the expression of a valid --constraint? */
bool translate_feature_met(const char *expression, const json_t *features);
/* Returns the number of nodes of a partition, whose features are known, that meet the expression. */
int64_t translate_feature_nodes(const struct translate_partition *partition, const char *expression);

/* translate_spec.c: returns the two parts of a step's spec (lib/order.h). `base` has the lines of the step and the rlimits. */
json_t *translate_spec_own(const struct translation *t, const struct translate_step *s, const struct order_spec *base);
json_t *translate_spec_end(struct translation *t, const struct translate_step *s, const struct order_spec *base,
			   const char *job_name, const char *account);
/* Returns `path` made absolute, malloc'ed: from the home directory if it begins with ~/, else from `folder`. */
char *translate_path(const struct translation *t, const char *folder, const char *path);

const char *translate_kind_name(enum translate_kind kind);
const char *translate_condition_name(enum translate_condition condition);

/* translate_credential.c: returns the names of the credentials that a step needs, with commas between, malloc'ed; NULL: none. */
char *translate_credentials(const struct translation *t, const struct translate_step *s);

/* Returns the names of the credentials that are added with the submission (NAME:forward). */
json_t *translate_forwards(const struct translation *t);

#endif
