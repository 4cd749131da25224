/* schedule_resume.h - chooses which steps that were suspended by preemption go on. */
#ifndef ROTA_SCHEDULE_RESUME_H
#define ROTA_SCHEDULE_RESUME_H

#include "jobmgr/schedule/schedule.h"
#include "jobmgr/schedule/schedule_change.h"

/* Choose which suspended steps go on. `rows` says what each needs on each of its nodes: rows of a step are adjacent, and steps
 * of higher tiers come first. The snapshot must have the claims of preemption as reserved rows. Returns for each row whether
 * its step goes on. *snapshot becomes one in which the chosen steps run, and free CPUs are kept for the others. All memory is
 * of `arena`. */
const bool *schedule_resume(struct schedule_arena *arena, struct schedule_snapshot *snapshot,
			    const struct schedule_policy *policy, const struct schedule_claim *rows, size_t count);

#endif
