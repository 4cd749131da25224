/* lead_plan.h - the plan: why steps wait and when they are expected to start. Keeps a copy of the plan in the database, so
 * that only changes are written. */
#ifndef ROTA_LEAD_PLAN_H
#define ROTA_LEAD_PLAN_H

#include "jobmgr/lead/lead_load.h"
#include "jobmgr/schedule/schedule.h"
#include "lib/db.h"

struct lead_plan;

/* Make a plan. Until the first write, the plan in the database is not known. */
struct lead_plan *lead_plan_new(void);
void lead_plan_free(struct lead_plan *plan);
void lead_plan_drop(struct lead_plan *plan);

/* Update the copy of the plan: a step has started, and its start deleted its row of the plan in the database. */
void lead_plan_note_start(struct lead_plan *plan, int64_t job, int step);

/* The rows of the plan that have to be written or deleted in the database. */
struct lead_plan_changes {
	bool whole;			    /* the plan in the database is not known, so it is replaced as a whole */
	const struct schedule_wait **waits; /* rows of the plan to write, in queue order */
	size_t wait_count;
	struct db_array *gone_jobs, *gone_steps; /* steps whose rows of the plan have to be deleted */
	size_t gone_count;
};
struct lead_plan_changes *lead_plan_compare(const struct lead_plan *plan, const struct schedule_result *result);
bool lead_plan_changes_any(const struct lead_plan_changes *changes);
void lead_plan_changes_free(struct lead_plan_changes *changes);

/* Returns the rows of the plan to write as a JSON list for api.schedule_plan, malloc'ed. */
char *lead_plan_changes_json(const struct lead_plan_changes *changes, const struct lead_rows *rows);

/* Set the copy of the plan to the waits of `result`: their write to the database is done or under way. */
void lead_plan_note_written(struct lead_plan *plan, const struct schedule_result *result);

#endif
