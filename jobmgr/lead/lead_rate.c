/* lead_rate.c - measures the completion rate of the first array of the queue, with an exponential average.
 *
 * Called by: lead_cycle.c, before it runs the scheduler. */
#include "jobmgr/lead/lead_rate.h"

#include <math.h>

#include "jobmgr/lead/lead_prefetch.h"

static const double memory_s = 0.5; /* time constant in seconds: an element that ended this long ago counts 1/e */
static const double reach_s = 0.25; /* seconds: as many elements as end in this time may be pre-dispatched */

static struct schedule_pending *rate_first_array(struct lead_rows *rows)
{
	for (size_t i = 0; i < rows->snapshot.pending_count; i++) {
		if (rows->pending[i].array_size > 0)
			return &rows->pending[i];
	}
	return NULL;
}

void lead_rate_update(struct lead_rate *rate, struct lead_rows *rows, double now)
{
	struct schedule_pending *array = rate_first_array(rows);

	if (!array)
		return;
	if (rate->job != array->job || rate->step != array->step)
		*rate = (struct lead_rate){.job = array->job, .step = array->step, .ended_total = array->array_ended, .at = now};
	rate->ended_recently = rate->ended_recently * exp((rate->at - now) / memory_s) + (array->array_ended - rate->ended_total);
	rate->ended_total = array->array_ended;
	rate->at = now;
	/* A prefetched launch row means that the array started elements in the last cycle and is in no job group. In a job
	 * group, the step that owns the prolog must not wait on its node behind steps that wait for the prolog. */
	if (lead_prefetch_has(rows, array->job, array->step))
		array->array_predispatch = (int)(rate->ended_recently * reach_s / memory_s);
}
