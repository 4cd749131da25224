/* lead_resume.h - suspended steps in a scheduling cycle: which of them go on, and which CPUs are kept for the others. */
#ifndef ROTA_LEAD_RESUME_H
#define ROTA_LEAD_RESUME_H

#include "jobmgr/lead/lead_load.h"
#include "jobmgr/schedule/schedule.h"
#include "lib/db.h"

/* Choose which suspended steps of rows->resumes go on. Afterwards these run in the snapshot of the rows. The claims must have
 * been reserved in it by lead_preempt_keep(). */
void lead_resume_choose(struct lead_rows *rows, const struct schedule_policy *policy);

/* Append the suspended steps that go on to `jobs` and `steps`. Returns their number. */
size_t lead_resume_list(const struct lead_rows *rows, struct db_array *jobs, struct db_array *steps);

#endif
