/* many.h - a call of `rota run` that runs many sub-steps: those under way, their output, the log of what completed, progress, summary. */
#ifndef ROTA_BIN_MANY_H
#define ROTA_BIN_MANY_H

#include <stdbool.h>
#include <stdint.h>

#include "bin/rota/steps/failures.h"
#include "bin/rota/steps/progress.h"
#include "bin/rota/steps/run_options.h"
#include "bin/rota/steps/run_output.h"
#include "lib/err.h"
#include "lib/rota.h"

struct many;

/* A sub-step that has not ended. It is the first member of what the caller keeps of it, malloc'ed. */
struct many_run {
	struct many *many;
	struct many_run *next, *previous;
	long number;   /* in the log: from 1 */
	uint64_t hash; /* in the log */
	int substep;   /* number of the sub-step in the job; 0: the step manager has not given the number yet */
	struct run_output out, err;
};

/* Functions that differ between lines and steps of a file. */
struct many_kind {
	const char *noun; /* "line" */
	/* Start what may start, by many_start(). Sets *fd to a descriptor whose bytes may let more start, -1: none. Returns whether more
	 * may start although nothing is under way. */
	bool (*fill)(struct many *m, int *fd);
	/* called when the descriptor of fill() can be read; NULL: fill() sets none */
	void (*read_more)(struct many *m);
	char *(*name)(const struct many_run *r);		       /* malloc'ed: "7" */
	char *(*failure)(const struct many_run *r, const char *words); /* malloc'ed: "line 7: failed (exit code 1): false" */
	void (*started)(struct many_run *r);			       /* NULL: it makes no difference */
	void (*ended)(struct many_run *r, bool good);		       /* free `r` */
};

/* The first three members are the caller's to set, the rest is 0 at the beginning. It is the first member of what the caller keeps. */
struct many {
	struct rota_steps *steps;
	const struct run_options *options;
	const struct many_kind *kind;
	struct done_log *log; /* NULL: none is kept */
	struct many_run *runs;
	long limit; /* most sub-steps at a time */
	struct progress progress;
	struct failures failures;
	int64_t interrupt_ms;
	int stop;    /* signal after which nothing more starts, 0: none */
	bool broken; /* an error was printed; nothing more starts */
};

/* Open the log of completed sub-steps, if the command line has --resume. */
bool many_open_log(struct many *m, struct err *e);
/* Has an earlier `rota run` with this log completed the line or unit with this hash? */
bool many_has_completed(const struct many *m, uint64_t hash);

/* May one more start now? */
bool many_has_room(const struct many *m);
void many_start(struct many *m, struct many_run *r, const struct rota_run *run);

/* Print an error, start no more sub-steps, and cancel those that run. */
void many_fail(struct many *m, const char *message);
/* Note the failure of a line or unit that did not start. Takes over the malloc'ed text. */
void many_note_failure(struct many *m, char *text);

/* Run all, with these variables and this folder for each. Returns the exit status: 1 if any failed. */
int many_run_all(struct many *m, const char *const *env, const char *cwd);

#endif
