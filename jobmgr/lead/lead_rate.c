/* lead_rate.c - see lead_rate.h. lead_cycle.c calls it. */
#include "jobmgr/lead/lead_rate.h"

#include <math.h>

#include "jobmgr/lead/lead_prefetch.h"

static const double memory_s = 0.5; /* seconds: what ended so long ago counts for 1/e */
static const double reach_s = 0.25; /* seconds' worth may stand ahead */

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
	/* What goes on was read along. No array of a job group is: what holds a group's prolog is not to be behind what waits for it. */
	if (lead_prefetch_has(rows, array->job, array->step))
		array->array_predispatch = (int)(rate->ended_recently * reach_s / memory_s);
}
