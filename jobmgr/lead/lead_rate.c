/* lead_rate.c - measures the completion rate of the first array of the queue, with an exponential average.
 *
 * Called by: lead_cycle.c, before it runs the scheduler. */
#include "jobmgr/lead/lead_rate.h"

#include <math.h>

#include "jobmgr/lead/lead_prefetch.h"

static const double memory_s = 0.5; /* time constant of the average in seconds: an element that ended this long ago counts 1/e */
static const double reach_s = 0.25; /* seconds: as many elements may be pre-dispatched as end in this time */

/* Time constant in seconds of the average for node.ahead. It is longer, since long elements end in bursts. */
static const double long_memory_s = 30;
static const double long_least_s = 1; /* seconds of measurement below which there is no rate for node.ahead */

static struct schedule_pending *rate_first_array(struct lead_rows *rows)
{
	for (size_t i = 0; i < rows->snapshot.pending_count; i++) {
		if (rows->pending[i].array_size > 0)
			return &rows->pending[i];
	}
	return NULL;
}

static double rate_decay(double weighted, double seconds, double time_constant)
{
	return weighted * exp(-seconds / time_constant);
}

/* Returns the number of elements that are expected to end in `ahead_s` seconds. A short measurement is scaled up. */
static int rate_count_ahead(const struct lead_rate *rate, int ahead_s)
{
	double seconds = rate->at - rate->since;

	if (seconds < long_least_s)
		return 0;
	return (int)(rate->ended_long * ahead_s / (long_memory_s * (1 - rate_decay(1, seconds, long_memory_s))));
}

void lead_rate_update(struct lead_rate *rate, struct lead_rows *rows, int ahead_s, double now)
{
	int ended, ahead;
	struct schedule_pending *array = rate_first_array(rows);

	if (!array)
		return;
	if (rate->job != array->job || rate->step != array->step)
		*rate = (struct lead_rate){
			.job = array->job, .step = array->step, .ended_total = array->array_ended, .at = now, .since = now};
	ended = array->array_ended - rate->ended_total;
	rate->ended_recently = rate_decay(rate->ended_recently, now - rate->at, memory_s) + ended;
	rate->ended_long = rate_decay(rate->ended_long, now - rate->at, long_memory_s) + ended;
	rate->ended_total = array->array_ended;
	rate->at = now;
	/* A prefetched launch row means that the array started elements in the last cycle and is in no job group. In a job
	 * group, the step that owns the prolog must not wait on its node behind steps that wait for the prolog. */
	if (!lead_prefetch_has(rows, array->job, array->step))
		return;
	array->array_predispatch = (int)(rate->ended_recently * reach_s / memory_s);
	ahead = ahead_s > 0 ? rate_count_ahead(rate, ahead_s) : 0;
	if (ahead > array->array_predispatch) {
		array->array_predispatch = ahead;
		array->array_ahead = true;
	}
}
