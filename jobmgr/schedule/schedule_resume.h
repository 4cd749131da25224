/* schedule_resume.h - chooses which steps that were suspended by preemption go on. */
#ifndef ROTA_SCHEDULE_RESUME_H
#define ROTA_SCHEDULE_RESUME_H

#include "jobmgr/schedule/schedule.h"
#include "jobmgr/schedule/schedule_change.h"

/* Choose among suspended steps that may go on. `rows` says what each needs on each of its nodes: those of a step side by side, steps of
 * higher tiers first. Claims must be kept in the snapshot. Returns for each row whether its step goes on. The snapshot becomes one in which
 * the chosen steps run, and what is free of the others' needs is kept for them. All is in `arena`. */
const bool *schedule_resume(struct schedule_arena *arena, struct schedule_snapshot *snapshot,
			    const struct schedule_policy *policy, const struct schedule_claim *rows, size_t count);

#endif
