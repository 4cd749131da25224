/* submit.h - the jobs that users submit, and their times. */
#ifndef ROTA_HISTORY_SUBMIT_H
#define ROTA_HISTORY_SUBMIT_H

#include "job.h"

struct submit {
	struct world *w;
	struct draw *d;
	int64_t from, length; /* begin of the history, microseconds since 2000; its microseconds */
	double gap, most;     /* most: highest relative rate; gap: mean microseconds between batches at it */
	struct job like;      /* the model of the jobs of the present batch */
	int left;	      /* jobs of the batch still to come */
};

void submit_begin(struct submit *s, struct world *w, struct draw *d, int64_t from, double days, int64_t jobs);
/* The time of the next submission after `at`. */
int64_t submit_next(struct submit *s, int64_t at);
/* Draw the job that is submitted at `at`; the caller frees it. */
struct job *submit_job(struct submit *s, int64_t id, int64_t at);

#endif
