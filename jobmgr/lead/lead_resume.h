/* lead_resume.h - suspended steps in a scheduling cycle: which go on, and what is kept for the others. */
#ifndef ROTA_LEAD_RESUME_H
#define ROTA_LEAD_RESUME_H

#include "jobmgr/lead/lead_load.h"
#include "jobmgr/schedule/schedule.h"
#include "lib/db.h"

/* Choose which suspended steps of the rows go on. In the snapshot of the rows they run afterwards. Claims must be kept in it. */
void lead_resume_choose(struct lead_rows *rows, const struct schedule_policy *policy);

/* List the steps that go on. Returns their number. */
size_t lead_resume_list(const struct lead_rows *rows, struct db_array *jobs, struct db_array *steps);

#endif
