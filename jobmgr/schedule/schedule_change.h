/* schedule_change.h - a snapshot that is changed: steps end or start, resources are kept for a step. The original stays as it
 * is. */
#ifndef ROTA_SCHEDULE_CHANGE_H
#define ROTA_SCHEDULE_CHANGE_H

#include "jobmgr/schedule/schedule.h"
#include "jobmgr/schedule/schedule_arena.h"

/* Resources on one node that are kept for a waiting step while steps end that were preempted for it. */
struct schedule_claim {
	int64_t job;
	int step;
	int node_id;
	int cpus;
	int64_t mem_mb;
	const struct schedule_amount *gres;
	size_t gres_count;
	const struct schedule_amount *licenses; /* licences of the step, given on only one of its claims */
	size_t license_count;
	/* set only in the rows of schedule_resume(): */
	const struct schedule_devices *devices; /* the devices that the step needs again */
	size_t device_count;
	int tier; /* tier of the step */
};

struct schedule_change {
	struct schedule_snapshot snapshot; /* the changed snapshot, valid until the next change */
	struct schedule_arena *arena;
	struct schedule_node *nodes;
	struct schedule_license *licenses;
	struct schedule_running *running;
};

/* Returns the node with an id, or NULL if the snapshot has none. */
const struct schedule_node *schedule_snapshot_node(const struct schedule_snapshot *snapshot, int id);

/* Begin to change a copy of a snapshot, to which up to `rows` running rows will be added. */
struct schedule_change *schedule_change_new(struct schedule_arena *arena, const struct schedule_snapshot *snapshot, size_t rows);

/* Free all resources of a running row. The row stays in the list and holds nothing. */
void schedule_change_end(struct schedule_change *change, size_t row);

/* What a step gives back while it is suspended, besides its CPUs. */
struct schedule_gives {
	bool licenses, gpus;
};

/* Free the CPUs of a running row, and what else the step gives back. The row keeps the rest. */
void schedule_change_suspend(struct schedule_change *change, size_t row, struct schedule_gives gives);

/* Add a running row, and take its CPUs, memory and licences from the free ones. Of each generic resource in `gres`, take as
 * many of the first free devices as its count says. */
void schedule_change_add(struct schedule_change *change, const struct schedule_running *row, const struct schedule_amount *gres,
			 size_t gres_count);

/* Let the row that was added last hold those of these devices that are free. */
void schedule_change_hold(struct schedule_change *change, const struct schedule_devices *devices, size_t count);

/* Add the running rows of a start, which take its CPUs, memory, devices and licences. `step` is the step that starts. */
void schedule_change_start(struct schedule_change *change, const struct schedule_start *start,
			   const struct schedule_pending *step);

/* Copy the shares of a start into `arena`, so that they outlive the result of the scheduler. Of devices, the names and the
 * counts are copied, not the device numbers. */
const struct schedule_share *schedule_change_copy_shares(struct schedule_arena *arena, const struct schedule_start *start);

/* Returns the number of shares of all these starts: each adds one running row to a snapshot. */
size_t schedule_change_shares(const struct schedule_start *starts, size_t count);

/* Returns a copy of `snapshot` in which the starts of `result`, the scheduler's result for it, are running. It has room for
 * `rows` more running rows. Pre-dispatched starts are left out. */
struct schedule_change *schedule_change_after(struct schedule_arena *arena, const struct schedule_snapshot *snapshot,
					      const struct schedule_result *result, size_t rows);

/* Reserve the free part of a claim for its step. The rest is still held by steps that are being ended. */
void schedule_change_keep(struct schedule_change *change, const struct schedule_claim *claim);

#endif
