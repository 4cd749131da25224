/* lead_plan.h - why the steps that were not started wait, and when they are expected to start: what stands of it in the database, and so what
 * is to be written after a pass, as api.schedule_plan takes it. */
#ifndef ROTA_LEAD_PLAN_H
#define ROTA_LEAD_PLAN_H

#include "jobmgr/lead/lead_load.h"
#include "jobmgr/schedule/schedule.h"
#include "lib/db.h"

struct lead_plan;

/* Nothing is known of what stands in the database. */
struct lead_plan *lead_plan_new(void);
void lead_plan_free(struct lead_plan *plan);
void lead_plan_drop(struct lead_plan *plan);

/* A step has started, and what was said of it has gone with that. */
void lead_plan_note_start(struct lead_plan *plan, int64_t job, int step);

/* What a pass has found that does not stand there. */
struct lead_plan_changes {
	bool whole;			    /* nothing is known: whatever is not said goes */
	const struct schedule_wait **waits; /* to be said, in the order of the queue */
	size_t wait_count;
	struct db_array *gone_jobs, *gone_steps; /* to be said no more */
	size_t gone_count;
};
struct lead_plan_changes *lead_plan_compare(const struct lead_plan *plan, const struct schedule_result *result);
bool lead_plan_changes_any(const struct lead_plan_changes *changes);
void lead_plan_changes_free(struct lead_plan_changes *changes);

/* Its waits as a JSON list; malloc'ed. */
char *lead_plan_changes_json(const struct lead_plan_changes *changes, const struct lead_rows *rows);

/* What the pass has found stands there from now on, or is on its way. */
void lead_plan_note_written(struct lead_plan *plan, const struct schedule_result *result);

#endif
