/* submit.h - what users submit, and when. */
#ifndef ROTA_HISTORY_SUBMIT_H
#define ROTA_HISTORY_SUBMIT_H

#include "job.h"

struct submit {
	struct world *w;
	struct draw *d;
	int64_t from, length; /* microseconds */
	double gap, most;     /* mean gap at the busiest, and how busy that is */
	struct job like;      /* what the batch that is being submitted is like */
	int left;	      /* of it */
};

void submit_begin(struct submit *s, struct world *w, struct draw *d, int64_t from, double days, int64_t jobs);
/* When the next job comes, after `at`. */
int64_t submit_next(struct submit *s, int64_t at);
/* That job, malloc'ed. */
struct job *submit_job(struct submit *s, int64_t id, int64_t at);

#endif
