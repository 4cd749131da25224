/* lead_rate.h - the completion rate of the array at the head of the queue, and so how many of its elements may be
 * pre-dispatched.
 *
 * As many elements are pre-dispatched as end in a quarter of a second (schedule_predispatch.c). So later steps wait no longer
 * than that for CPUs. Of an array of long elements, none is pre-dispatched.
 * With node.ahead, as many elements are pre-dispatched as end in node.ahead seconds, so that nodes have work while the database
 * does not answer. Elements whose CPUs a step of higher priority needs are withdrawn (schedule_withdraw.c). */
#ifndef ROTA_LEAD_RATE_H
#define ROTA_LEAD_RATE_H

#include "jobmgr/lead/lead_load.h"

struct lead_rate {
	int64_t job; /* job of the array whose completion rate is measured; 0: no array yet */
	int step;
	int ended_total;       /* number of elements of the array that have ended */
	double ended_recently; /* number of ended elements, weighted by age */
	double at;	       /* time of the latest update, in monotonic seconds */
	double since;	       /* time of the first update for this array, in monotonic seconds */
	double ended_long;     /* number of ended elements, weighted by age with a longer time constant, for node.ahead */
};

/* Update the completion rate from a snapshot that was read at `now` (monotonic seconds), and set array_predispatch of the first
 * array in the snapshot. ahead_s: seconds for which pre-dispatched elements are to keep nodes busy; 0: only while they wait for
 * the database. */
void lead_rate_update(struct lead_rate *rate, struct lead_rows *rows, int ahead_s, double now);

#endif
