/* plan_rank.h - the position in the queue of steps that are submitted. */
#ifndef ROTA_BIN_PLAN_RANK_H
#define ROTA_BIN_PLAN_RANK_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "jobmgr/schedule/schedule.h"

/* The position of a step in the queue: by tier, then by priority of the partition, then by rank. */
struct plan_rank {
	int tier;
	int priority;
	int64_t rank; /* includes the tier of the partition */
};

/* Returns the position of a step in the queue that has this rank without the tier of its partition. `ranks`: the member of this name
 * in the answer of api.plan_snapshot. */
struct plan_rank plan_rank_queued(const struct schedule_snapshot *snapshot, const json_t *ranks,
				  const struct schedule_pending *step, int64_t rank);

/* Returns the position of a step that is submitted at the time of the snapshot. `ranks`: as above; `job`: the member of
 * this name in the plan of the job. */
struct plan_rank plan_rank_submitted(const struct schedule_snapshot *snapshot, const json_t *ranks, const json_t *job,
				     const char *partition, bool is_eternal);

/* Is a step at position `a` before a later submitted step at position `b`? */
bool plan_rank_is_ahead(const struct plan_rank *a, const struct plan_rank *b);

#endif
