/* plan_preempt.h - starts by preemption, in the plan of a snapshot. */
#ifndef ROTA_BIN_PLAN_PREEMPT_H
#define ROTA_BIN_PLAN_PREEMPT_H

#include "bin/rota/plan/plan_snapshot.h"
#include "jobmgr/schedule/schedule.h"

/* Correct the times at which pending steps are expected to start, and why they wait, by what they and others would preempt. Both lists
 * are those of `result`, by index of the pending step; messages are in the snapshot's arena. */
void plan_preempt_note(struct plan_snapshot *snapshot, const struct schedule_policy *policy, const struct schedule_result *result,
		       double *times, const char **messages);

#endif
