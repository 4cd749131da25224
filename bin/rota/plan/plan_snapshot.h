/* plan_snapshot.h - reads the answer of api.plan_snapshot, which has the input of a scheduling cycle, and adds submissions to its
 * queue. */
#ifndef ROTA_BIN_PLAN_SNAPSHOT_H
#define ROTA_BIN_PLAN_SNAPSHOT_H

#include <jansson.h>
#include <stdbool.h>

#include "bin/rota/plan/plan_rank.h"
#include "jobmgr/lead/lead_load.h"
#include "lib/err.h"

struct plan_snapshot {
	struct lead_rows *rows; /* snapshot.pending has the requests of the queue */
	struct lead_queue *queue;
	struct plan_rank *ranks;      /* ranks of the pending steps, by index */
	json_t *rules;		      /* settings from which the ranks of submissions are computed */
	struct lead_rows **submitted; /* rows of the steps that each call of plan_snapshot_submit() has added */
	size_t submitted_count;
	struct lead_rows *requested; /* steps that can be moved; NULL: none were read */
};

/* Read the answer of api.plan_snapshot. */
bool plan_snapshot_read(struct plan_snapshot *snapshot, const json_t *answer, struct err *e);
void plan_snapshot_free(struct plan_snapshot *snapshot);

/* Read the requests of `count` steps from a list of the answer of api.plan_snapshot; NULL with an error. Call it once for a
 * snapshot. */
const struct schedule_pending *plan_snapshot_requests(struct plan_snapshot *snapshot, const json_t *set, size_t count,
						      struct err *e);

/* Add to the queue those steps of a job's plan that could start now, at their ranks. `partition`: the partition of steps that
 * name none. Returns the number of steps that were not added, because they wait for other steps of the plan; SIZE_MAX: the plan
 * is malformed. */
size_t plan_snapshot_submit(struct plan_snapshot *snapshot, const json_t *plan, const char *partition, struct err *e);

#endif
