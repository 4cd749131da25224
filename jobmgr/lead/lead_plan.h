/* lead_plan.h - the plan: why steps wait and when they are expected to start. Keeps a copy of what the database has, so that only
 * changes are written. */
#ifndef ROTA_LEAD_PLAN_H
#define ROTA_LEAD_PLAN_H

#include "jobmgr/lead/lead_load.h"
#include "jobmgr/schedule/schedule.h"
#include "lib/db.h"

struct lead_plan;

/* At first the written plan is not known. */
struct lead_plan *lead_plan_new(void);
void lead_plan_free(struct lead_plan *plan);
void lead_plan_drop(struct lead_plan *plan);

/* A step has started; that deleted its wait in the database. */
void lead_plan_note_start(struct lead_plan *plan, int64_t job, int step);

/* What has to be written. */
struct lead_plan_changes {
	bool whole;			    /* the written plan is not known: it is replaced as a whole */
	const struct schedule_wait **waits; /* to write, in queue order */
	size_t wait_count;
	struct db_array *gone_jobs, *gone_steps; /* to delete */
	size_t gone_count;
};
struct lead_plan_changes *lead_plan_compare(const struct lead_plan *plan, const struct schedule_result *result);
bool lead_plan_changes_any(const struct lead_plan_changes *changes);
void lead_plan_changes_free(struct lead_plan_changes *changes);

/* The waits to write, as a JSON list for api.schedule_plan; malloc'ed. */
char *lead_plan_changes_json(const struct lead_plan_changes *changes, const struct lead_rows *rows);

/* The plan of this result is written, or its write is under way. */
void lead_plan_note_written(struct lead_plan *plan, const struct schedule_result *result);

#endif
