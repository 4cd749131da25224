/* plan_rank.h - where steps that are submitted would stand in the queue. */
#ifndef ROTA_BIN_PLAN_RANK_H
#define ROTA_BIN_PLAN_RANK_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "jobmgr/schedule/schedule.h"

/* The place of a step in the queue: by tier, then by priority of the partition, then by rank. */
struct plan_rank {
	int tier;
	int priority;
	int64_t rank; /* of the step, with the tier of its partition, as in api.plan_snapshot */
};

/* Returns the place of a step of the queue that has this rank. */
struct plan_rank plan_rank_queued(const struct schedule_snapshot *snapshot, const struct schedule_pending *step, int64_t rank);

/* Returns the place of a step that is submitted at the time of the snapshot. `ranks`: that member of the answer of
 * api.plan_snapshot; `job`: that of the job's plan. */
struct plan_rank plan_rank_submitted(const struct schedule_snapshot *snapshot, const json_t *ranks, const json_t *job,
				     const char *partition, bool is_eternal);

/* Is a step of the first place ahead of one of the second that is submitted later? */
bool plan_rank_is_ahead(const struct plan_rank *a, const struct plan_rank *b);

#endif
