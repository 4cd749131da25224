/* schedule_withdraw.h - finds pre-dispatched elements that nodes must give back. */
#ifndef ROTA_SCHEDULE_WITHDRAW_H
#define ROTA_SCHEDULE_WITHDRAW_H

#include "jobmgr/schedule/schedule.h"
#include "jobmgr/schedule/schedule_arena.h"

/* All pre-dispatched elements of an array on one node that have not started. */
struct schedule_withdrawal {
	int64_t job;
	int request; /* step id of the array */
	int node_id;
};

/* List the pre-dispatched elements that are to be withdrawn. `result` is the scheduler's result for `snapshot`. The list is in
 * `arena`. Returns its length. */
size_t schedule_withdraw(struct schedule_arena *arena, const struct schedule_snapshot *snapshot,
			 const struct schedule_result *result, const struct schedule_withdrawal **list);

/* Returns the index of the first step in the queue that waits for resources, or the length of the queue if none does. */
size_t schedule_withdraw_first(const struct schedule_snapshot *snapshot, const struct schedule_result *result);

#endif
