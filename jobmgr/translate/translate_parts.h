/* translate_parts.h - what the files of the translator share: a translation under way, from the words of directives to
 * resolved steps. For translate*.c only. */
#ifndef ROTA_TRANSLATE_PARTS_H
#define ROTA_TRANSLATE_PARTS_H

#include "jobmgr/translate/option.h"
#include "jobmgr/translate/translate.h"

/* One option as somebody gave it. */
struct translate_setting {
	json_t *value; /* as option_value gives it, JSON null included; NULL = not given */
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
	int step;	    /* index of the step that is bound */
	int peer;	    /* index of the peer; -1: in another job */
	int64_t peer_job;   /* 0: this one; of a singleton, those of its name */
	char *peer_name;    /* step of another job, NULL = the whole of it */
	const char *option; /* that names the peer, "" = none: a plain sequence */
	int line;
};

struct translate_step {
	char name[65];
	int line, last_line;
	struct translate_set own; /* from its own line */
	bool deps_any;
	int first_edge, edge_count; /* its edges stand together */
	int with;		    /* lowest index of those it starts with; itself where alone */
	int same;		    /* the like for those on the same nodes */
	int next_with;		    /* next step of its `with` set, -1 = last */
	int topo;		    /* place in an order in which all come behind those they wait for */
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
	bool has_steps;	 /* a line #ROTA step was seen */
	bool modifies;	 /* a submitted step is being changed */
	bool sequence;	 /* no step names peers, so each follows the one before it */
	int header_last; /* last line before the first step */
	struct translate_step *steps;
	int step_count, step_capacity;
	char *arguments; /* of the script, as a spec has them; NULL = none */
	int refused;	 /* refusals, those of one and the same problem included */
	int latest;	 /* index of the problem that the latest refusal made; -1: it made none */
	struct translate_edge *edges;
	int edge_count, edge_capacity;
};

/* translation.c */
void translation_init(struct translation *t, const struct translate_request *request, const struct translate_limits *limits,
		      struct translate_problems *problems);
void translation_clear(struct translation *t);
struct translate_step *translation_add_step(struct translation *t, const char *name, int line);

/* translate_problem.c: one with an error's text, and one with a text of its own; line 0 and option "" where none. True if it is a
 * new one that is kept; only then it is worth looking for a hint. */
bool translate_problem(struct translation *t, int line, const char *option, const struct err *e);
bool translate_refuse(struct translation *t, int line, const char *option, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* So much was refused that it is not worth reading on: what readers of long lists ask at each item. */
bool translate_has_enough_problems(const struct translation *t);

/* What is taken, but not as somebody might expect it; --strict makes it a problem. */
void translate_warn(struct translation *t, int line, const char *option, const char *what, const char *why);

/* Turn each warning into a refusal. */
void translate_refuse_warnings(struct translation *t);

/* The warnings, as the problems of a refusal; [] where there are none. */
json_t *translate_warnings_json(struct translation *t);

/* A hint for the problem just made. */
void translate_hint(struct translation *t, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* By line, those of one line in the order in which they were found. */
void translate_problems_sort(struct translate_problems *problems);

/* translate_words.c: a directive's text as a shell would split it, in memory of its own. */
struct translate_words {
	char *text;
	const char **list;
	int count;
};
bool translate_words(const char *text, size_t size, struct translate_words *words, struct err *e);
void translate_words_free(struct translate_words *words);

/* translate_shell.c: what has been read of a shell script, as far as here-documents go; all 0 at its beginning. */
struct translate_document {
	char word[64]; /* the line that ends it */
	bool tabs;     /* "<<-": tabs before it do not count */
};
struct translate_shell {
	char stack[64]; /* quotes and parentheses that are open */
	int depth;
	struct translate_document documents[8]; /* that begin behind this line */
	int count, misses;
};
/* A directive was read: nothing is open, whatever it looked like. */
void translate_shell_reset(struct translate_shell *s);
/* Read a line of `size` bytes, behind which `text` follows: what stands behind the here-documents that it begins. Adds their lines to *number. */
const char *translate_shell_read(struct translate_shell *s, const char *line, size_t size, const char *text, const char *end,
				 int *number);

/* translate_set.c: read options from words into a set. `own`: the set of a step's own line. */
void translate_set_read(struct translation *t, struct translate_set *set, enum option_spelling spelling, const char *const *words,
			int count, int line, bool own);
void translate_set_clear(struct translate_set *set);

/* What counts for a step, and how strong it is (0 = strongest); NULL = nobody said. */
const struct translate_setting *translate_find_setting(const struct translation *t, const struct translate_step *s,
						       enum option_id id, int *rank);
/* The same as a JSON value, NULL also for JSON null; and as a number. */
json_t *translate_value(const struct translation *t, const struct translate_step *s, enum option_id id);
int64_t translate_number(const struct translation *t, const struct translate_step *s, enum option_id id, int64_t otherwise);
int translate_find_line(const struct translation *t, const struct translate_step *s, enum option_id id);

/* Refuse all warnings where --strict was given, or where a submitted step is changed. */
void translate_strict(struct translation *t);

/* Of two options that displace each other: whichever counts, or -1; a problem where neither is stronger. */
int translate_choose_rival(struct translation *t, const struct translate_step *s, enum option_id a, enum option_id b);

/* translate.c: that the client's working directory, which relative paths are below, is one. */
void translate_check_folder(struct translation *t);

/* The stages, in the order in which translate.c calls them. */
void translate_read(struct translation *t);	  /* translate_read.c: lines to sets and steps */
void translate_peers(struct translation *t);	  /* translate_peer.c: steps' settings to edges */
void translate_graph(struct translation *t);	  /* translate_graph.c: sets, cycles, topo */
void translate_size_steps(struct translation *t); /* translate_size.c: nodes, tasks, arrays, ids, times */
void translate_fit(struct translation *t);	  /* translate_fit.c: against the partitions */
json_t *translate_plan(struct translation *t);	  /* translate_plan.c */

/* translate_fit_others.c: --other-nodes against the partitions' nodes; called by translate_fit. */
void translate_fit_others(struct translation *t, const int *partitions);

/* translate_plan.c: the job's members, as far as given or all of them. */
void translate_job_json(struct translation *t, json_t *job, bool only_given);

/* translate_step.c: what a step asks for, but its spec. */
json_t *translate_step_asks(struct translation *t, const struct translate_step *s);
/* Whether its own line has no option but those that name peers; whether that is so of two that are as large, which then ask for the same. */
bool translate_step_asks_nothing(const struct translate_step *s);
bool translate_step_asks_alike(const struct translate_step *a, const struct translate_step *b);
/* The lines of options that only the database can judge, as far as they are given: {"licenses": 3}; 0 = command line. */
json_t *translate_lines_json(const struct translation *t, const struct translate_step *s, const enum option_id *ids,
			     size_t count);

/* The GPUs on each node that a step asks for, by whichever option. */
int64_t translate_gpus(struct translation *t, const struct translate_step *s);

/* translate_feature.c: whether a node with these features (a list of strings) meets a well-formed --constraint. */
bool translate_feature_met(const char *expression, const json_t *features);

/* translate_spec.c: the spec of a step in two parts, as lib/order.h has them; `base` has the lines and rlimits. */
struct order_spec;
json_t *translate_spec_own(const struct translation *t, const struct translate_step *s, const struct order_spec *base);
json_t *translate_spec_end(struct translation *t, const struct translate_step *s, const struct order_spec *base,
			   const char *job_name, const char *account);
/* `path` made absolute: below home for ~/, else below `folder`. malloc'ed. */
char *translate_path(const struct translation *t, const char *folder, const char *path);

const char *translate_kind_name(enum translate_kind kind);
const char *translate_condition_name(enum translate_condition condition);

#endif
