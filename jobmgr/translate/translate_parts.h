/* translate_parts.h - the data of a translation under way, and the functions that the files of the translator share. For translate*.c
 * only. */
#ifndef ROTA_TRANSLATE_PARTS_H
#define ROTA_TRANSLATE_PARTS_H

#include "jobmgr/translate/option.h"
#include "jobmgr/translate/translate.h"

/* One option that was given. */
struct translate_setting {
	json_t *value; /* from option_value, which may be JSON null; NULL: not given */
	int line;      /* 0 = command line */
	bool total;    /* memory of all nodes together (PBS) */
};

struct translate_set {
	struct translate_setting of[OPTION_ROWS];
};

enum translate_kind { TRANSLATE_AFTER, TRANSLATE_WITH, TRANSLATE_SAME_NODES, TRANSLATE_OTHER_NODES };
enum translate_condition { TRANSLATE_OK, TRANSLATE_ANY, TRANSLATE_FAIL, TRANSLATE_START, TRANSLATE_CORR, TRANSLATE_SINGLETON };

struct translate_edge {
	enum translate_kind kind;
	enum translate_condition condition;
	int step;	    /* index of the step that has the edge */
	int peer;	    /* index of the peer; -1: in another job */
	int64_t peer_job;   /* 0: this job; of a singleton, the jobs of its name */
	char *peer_name;    /* step of another job; NULL: the whole job */
	const char *option; /* that names the peer; "": none, in a plain sequence */
	int line;
};

struct translate_step {
	char name[65];
	int line, last_line;
	struct translate_set own; /* from its own line */
	bool deps_any;
	int first_edge, edge_count; /* its edges in `edges` */
	int with;		    /* its gang: the lowest index of the steps that it starts with, itself included */
	int same;		    /* the lowest index of the steps on the same nodes, itself included */
	int next_with;		    /* next step of its gang; -1: the last one */
	int topo;		    /* position in a topological order: higher than those of the steps it waits for */
	int id;
	int64_t elements; /* of an array; 0 = none */
	bool nodes_named;
	int64_t nodes_min, nodes_max;			/* nodes_max 0 = as many as the tasks need */
	int64_t ntasks, ntasks_per_node, cpus_per_task; /* 0 = not given, until translate_sizes is done */
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
	bool sequence;	 /* no step names peers, so each waits for the one before it */
	int header_last; /* last line before the first step */
	struct translate_step *steps;
	int step_count, step_capacity;
	char *arguments; /* of the script, as in a spec; NULL: none */
	int refused;	 /* number of refusals, with those of problems that are listed already */
	int latest;	 /* index of the problem of the latest refusal; -1: it was listed already */
	struct translate_edge *edges;
	int edge_count, edge_capacity;
};

/* translation.c */
void translation_init(struct translation *t, const struct translate_request *request, const struct translate_limits *limits,
		      struct translate_problems *problems);
void translation_clear(struct translation *t);
struct translate_step *translation_add_step(struct translation *t, const char *name, int line);

/* translate_problem.c: add a problem with the text of an error, or with its own. Line 0 and option "": none. True: it is listed now, so a
 * hint is useful. */
bool translate_problem(struct translation *t, int line, const char *option, const struct err *e);
bool translate_refuse(struct translation *t, int line, const char *option, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* Were there so many refusals that reading stops? Readers of long lists ask before each item. */
bool translate_has_enough_problems(const struct translation *t);

/* Warn of an option that has another effect than the user may expect; --strict refuses it. */
void translate_warn(struct translation *t, int line, const char *option, const char *what, const char *why);

/* Turn each warning into a refusal. */
void translate_refuse_warnings(struct translation *t);

/* The warnings as JSON, in the form of a refusal's problems. */
json_t *translate_warnings_json(struct translation *t);

/* Add a hint to the latest problem, unless it was listed before. */
void translate_hint(struct translation *t, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Sort by line. Problems of one line stay in the order in which they were found. */
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
	char word[64]; /* the line that ends it */
	bool tabs;     /* "<<-": the line may begin with tabs */
};
struct translate_shell {
	char stack[64]; /* quotes and parentheses that are open */
	int depth;
	struct translate_document documents[8]; /* that begin after this line */
	int count, misses;
};
/* Close all that is open: a directive was read. */
void translate_shell_reset(struct translate_shell *s);
/* Read a line of `size` bytes, which `text` follows. Returns the text after the here-documents that it begins, and adds their lines to
 * *number. */
const char *translate_shell_read(struct translate_shell *s, const char *line, size_t size, const char *text, const char *end,
				 int *number);

/* translate_set.c: read options from words into a set. `own`: the set of a step's own line. */
void translate_set_read(struct translation *t, struct translate_set *set, enum option_spelling spelling, const char *const *words,
			int count, int line, bool own);
void translate_set_clear(struct translate_set *set);

/* The setting that counts for a step, and its rank (0: highest precedence); NULL: not given. */
const struct translate_setting *translate_find_setting(const struct translation *t, const struct translate_step *s,
						       enum option_id id, int *rank);
/* Its value, NULL also for JSON null; its value as a number. */
json_t *translate_value(const struct translation *t, const struct translate_step *s, enum option_id id);
int64_t translate_number(const struct translation *t, const struct translate_step *s, enum option_id id, int64_t otherwise);
int translate_find_line(const struct translation *t, const struct translate_step *s, enum option_id id);

/* Refuse all warnings where --strict was given, or where a submitted step is changed. */
void translate_strict(struct translation *t);

/* Which of two options that displace each other counts; -1: neither was given. A problem where both have the same rank. */
int translate_choose_rival(struct translation *t, const struct translate_step *s, enum option_id a, enum option_id b);

/* translate.c: check the client's working directory. */
void translate_check_folder(struct translation *t);

/* The stages, in their order. */
void translate_read(struct translation *t);	  /* translate_read.c: lines to sets and steps */
void translate_peers(struct translation *t);	  /* translate_peer.c: steps' settings to edges */
void translate_graph(struct translation *t);	  /* translate_graph.c: sets, cycles, topo */
void translate_size_steps(struct translation *t); /* translate_size.c: nodes, tasks, arrays, ids, times */
void translate_fit(struct translation *t);	  /* translate_fit.c: against the partitions */
json_t *translate_plan(struct translation *t);	  /* translate_plan.c */

/* translate_fit_others.c: --other-nodes against the nodes of the partitions; called by translate_fit. */
void translate_fit_others(struct translation *t, const int *partitions);

/* translate_plan.c: put the job's members, those that were given or all. */
void translate_job_json(struct translation *t, json_t *job, bool only_given);

/* translate_step.c: what a step requests, without its spec. */
json_t *translate_step_asks(struct translation *t, const struct translate_step *s);
/* Has its own line only options that name peers? Do two steps request the same, because that is so and they have the same size? */
bool translate_step_asks_nothing(const struct translate_step *s);
bool translate_step_asks_alike(const struct translate_step *a, const struct translate_step *b);
/* The lines of options that only the database can check, where they were given: {"licenses": 3}; 0: command line. */
json_t *translate_lines_json(const struct translation *t, const struct translate_step *s, const enum option_id *ids,
			     size_t count);

/* The GPUs that a step requests on each node. */
int64_t translate_gpus(struct translation *t, const struct translate_step *s);

/* translate_feature.c: does a node with these features (a list of strings) meet a valid --constraint? */
bool translate_feature_met(const char *expression, const json_t *features);

/* translate_spec.c: the spec of a step in its two parts (lib/order.h); `base` has the lines and rlimits. */
struct order_spec;
json_t *translate_spec_own(const struct translation *t, const struct translate_step *s, const struct order_spec *base);
json_t *translate_spec_end(struct translation *t, const struct translate_step *s, const struct order_spec *base,
			   const char *job_name, const char *account);
/* `path` made absolute: from the home directory for ~/, else from `folder`. malloc'ed. */
char *translate_path(const struct translation *t, const char *folder, const char *path);

const char *translate_kind_name(enum translate_kind kind);
const char *translate_condition_name(enum translate_condition condition);

#endif
