/* many.h - a call of `rota run` that runs many sub-steps: those under way, their output, the log of completed ones, progress,
 * summary. */
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

/* A sub-step that has not ended. It is the first member of the caller's malloc'ed struct for this sub-step. */
struct many_run {
	struct many *many;
	struct many_run *next, *previous;
	long number;   /* number of the line or unit in the log, from 1 */
	uint64_t hash; /* hash of the line or unit in the log */
	int substep;   /* number of the sub-step in the job; 0: the step manager has not given the number yet */
	struct run_output out, err;
};

/* Functions that differ between --each (lines) and --file (units). */
struct many_kind {
	const char *noun; /* "line" */
	/* Start all sub-steps that may start, by many_start(). Sets *fd to a descriptor from which further lines are read, -1:
	 * none. Returns true if more may start, even if no sub-step is under way. */
	bool (*fill)(struct many *m, int *fd);
	/* called when the descriptor of fill() can be read; NULL: fill() sets none */
	void (*read_more)(struct many *m);
	char *(*name)(const struct many_run *r); /* returns the name for messages, malloc'ed: "7" */
	char *(*failure)(const struct many_run *r,
			 const char *words);	      /* malloc'ed message: "line 7: failed (exit code 1): false" */
	void (*started)(struct many_run *r);	      /* called when it has started; NULL: nothing to do */
	void (*ended)(struct many_run *r, bool good); /* called when it has ended; frees `r` */
};

/* State of the call. The caller sets the first three members, and all others to 0. It is the first member of the caller's own
 * struct. */
struct many {
	struct rota_steps *steps;
	const struct run_options *options;
	const struct many_kind *kind;
	struct done_log *log; /* log of completed sub-steps; NULL: without --resume */
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
/* Returns true if an earlier `rota run` with this log completed the line or unit with this hash. */
bool many_has_completed(const struct many *m, uint64_t hash);

/* Returns true if one more sub-step may start now. */
bool many_has_room(const struct many *m);
void many_start(struct many *m, struct many_run *r, const struct rota_run *run);

/* Print an error, start no more sub-steps, and cancel those that run. */
void many_fail(struct many *m, const char *message);
/* Count and record the failure of a line or unit that did not start. Takes over the malloc'ed text. */
void many_note_failure(struct many *m, char *text);

/* Run all sub-steps, each with the environment `env` and the folder `cwd`. Returns the exit status: 1 if any failed. */
int many_run_all(struct many *m, const char *const *env, const char *cwd);

#endif
