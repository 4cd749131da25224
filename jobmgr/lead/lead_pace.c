/* lead_pace.c - see lead_pace.h. lead_pass.c calls it. */
#include "jobmgr/lead/lead_pace.h"

#include <math.h>

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

static size_t count(const struct schedule_snapshot *s, const struct schedule_pending *array)
{
	size_t there = 0;

	for (size_t i = 0; i < s->running_count; i++)
		there += s->running[i].job == array->job && s->running[i].request == array->step && !s->running[i].kept;
	return there;
}

void lead_pace_read(struct lead_pace *pace, struct lead_rows *rows, double now)
{
	struct schedule_pending *array = first_array(rows);

	if (!array) {
		lead_pace_forget(pace);
		return;
	}
	size_t there = count(&rows->snapshot, array);
	if (pace->job != array->job || pace->step != array->step)
		*pace = (struct lead_pace){.job = array->job, .step = array->step, .there = there, .at = now};
	pace->ended = pace->ended * exp((pace->at - now) / memory) + (pace->there > there ? (double)(pace->there - there) : 0);
	pace->there = there;
	pace->at = now;
	array->array_ahead = (int)(pace->ended * reach / memory);
}

void lead_pace_decided(struct lead_pace *pace, const struct schedule_result *result)
{
	for (size_t i = 0; i < result->start_count; i++)
		pace->there += result->starts[i].job == pace->job && result->starts[i].step == pace->step;
}

void lead_pace_forget(struct lead_pace *pace)
{
	pace->job = 0;
}
