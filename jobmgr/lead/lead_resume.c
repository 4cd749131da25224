/* lead_resume.c - has the scheduler choose which suspended steps go on, and lists them for the database.
 *
 * Called by: lead_cycle.c before the scheduler runs; lead_cycle_write.c; `rota plan`.
 * Invariants:
 *  - If no suspended step may go on, the scheduler is not run. */
#include "jobmgr/lead/lead_resume.h"

#include "jobmgr/schedule/schedule_resume.h"

void lead_resume_choose(struct lead_rows *rows, const struct schedule_policy *policy)
{
	if (rows->resume_count > 0)
		rows->resumed = schedule_resume(rows->arena, &rows->snapshot, policy, rows->resumes, rows->resume_count);
}

size_t lead_resume_list(const struct lead_rows *rows, struct db_array *jobs, struct db_array *steps)
{
	size_t count = 0;

	for (size_t i = 0; i < rows->resume_count; i++) {
		const struct schedule_claim *row = &rows->resumes[i];
		bool is_first = i == 0 || row->job != row[-1].job || row->step != row[-1].step;

		if (!is_first || !rows->resumed || !rows->resumed[i])
			continue;
		db_array_int(jobs, row->job);
		db_array_int(steps, row->step);
		count++;
	}
	return count;
}
