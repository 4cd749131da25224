/* submit.h - the jobs that users submit, and their times. */
#ifndef ROTA_HISTORY_SUBMIT_H
#define ROTA_HISTORY_SUBMIT_H

#include "job.h"

struct submit {
	struct world *w;
	struct draw *d;
	int64_t from, length; /* microseconds */
	double gap, most;     /* mean gap at the highest rate, and that rate */
	struct job like;      /* the model of the jobs of the present batch */
	int left;	      /* jobs of the batch still to come */
};

void submit_begin(struct submit *s, struct world *w, struct draw *d, int64_t from, double days, int64_t jobs);
/* The time of the next job after `at`. */
int64_t submit_next(struct submit *s, int64_t at);
/* That job, malloc'ed. */
struct job *submit_job(struct submit *s, int64_t id, int64_t at);

#endif
