/* lead_rate.h - the completion rate of the array at the head of the queue, and so how many of its elements may be pre-dispatched.
 *
 * As many are as end in a quarter of a second (schedule_predispatch.c). So later steps wait no longer than that for CPUs, and an
 * array of long elements gets none. */
#ifndef ROTA_LEAD_RATE_H
#define ROTA_LEAD_RATE_H

#include "jobmgr/lead/lead_load.h"

struct lead_rate {
	int64_t job; /* 0: no array yet */
	int step;
	int ended_total;       /* its elements that have ended */
	double ended_recently; /* weighted by age */
	double at;	       /* monotonic seconds */
};

/* A snapshot was read at `now`: update the rate, and set array_predispatch of its first array. */
void lead_rate_update(struct lead_rate *rate, struct lead_rows *rows, double now);

#endif
