/* plan_preempt.h - corrects the plan of a snapshot by preemptions. */
#ifndef ROTA_BIN_PLAN_PREEMPT_H
#define ROTA_BIN_PLAN_PREEMPT_H

#include "bin/rota/plan/plan_snapshot.h"
#include "jobmgr/schedule/schedule.h"

/* Correct the expected start of each pending step, and the reason why it waits, for the preemptions that the leader would make. `times`
 * and `messages` are those of `result`, by index of the pending step. New messages are in the snapshot's arena. */
void plan_preempt_note(struct plan_snapshot *snapshot, const struct schedule_policy *policy, const struct schedule_result *result,
		       double *times, const char **messages);

#endif
