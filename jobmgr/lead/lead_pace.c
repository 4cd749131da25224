/* lead_pace.c - see lead_pace.h. lead_pass.c calls it. */
#include "jobmgr/lead/lead_pace.h"

#include <math.h>

#include "jobmgr/lead/lead_expect.h"

static const double memory = 0.5; /* seconds: what ended so long ago counts for 1/e */
static const double reach = 0.25; /* seconds' worth may stand ahead */

static struct schedule_pending *first_array(struct lead_rows *rows)
{
	for (size_t i = 0; i < rows->snapshot.pending_count; i++) {
		if (rows->pending[i].array_size > 0)
			return &rows->pending[i];
	}
	return NULL;
}

void lead_pace_read(struct lead_pace *pace, struct lead_rows *rows, double now)
{
	struct schedule_pending *array = first_array(rows);

	if (!array)
		return;
	if (pace->job != array->job || pace->step != array->step)
		*pace = (struct lead_pace){.job = array->job, .step = array->step, .over = array->array_over, .at = now};
	pace->ended = pace->ended * exp((pace->at - now) / memory) + (array->array_over - pace->over);
	pace->over = array->array_over;
	pace->at = now;
	/* What goes on was read along. No array of a job group is: what holds a group's prolog is not to be behind what waits for it. */
	if (lead_expect_has(rows, array->job, array->step))
		array->array_ahead = (int)(pace->ended * reach / memory);
}
