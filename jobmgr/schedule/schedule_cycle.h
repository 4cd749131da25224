/* schedule_cycle.h - the state of one run of the scheduler, for schedule.c and schedule_predispatch.c. */
#ifndef ROTA_SCHEDULE_CYCLE_H
#define ROTA_SCHEDULE_CYCLE_H

#include "jobmgr/schedule/schedule_earliest.h"
#include "jobmgr/schedule/schedule_gang.h"
#include "jobmgr/schedule/schedule_record.h"

/* State of a partition in this run. */
struct schedule_partition_state {
	bool blocked;
	size_t first_blocked;  /* index of the pending step that blocked it */
	int expected_count[2]; /* waiting gangs with a worked-out start: [0] for licences, [1] for nodes */
	size_t last_gang;      /* the last gang counted there */
};

struct schedule_cycle {
	const struct schedule_snapshot *snapshot;
	bool backfill;
	int reservations;
	struct schedule_cluster *cluster;
	struct schedule_profile *profile;
	struct schedule_fit *fit;
	struct schedule_placement *placement;
	struct schedule_earliest *earliest;
	struct schedule_record *record;
	struct schedule_view empty;
	struct schedule_partition_state *partition_state; /* by partition */
	size_t *closed_by; /* by licence: 1 + index of the pending step it is closed for, 0: open */
	size_t gang_count; /* gangs decided so far */
};

static inline struct schedule_partition_state *schedule_cycle_partition(struct schedule_cycle *cycle,
									const struct schedule_member *member)
{
	return &cycle->partition_state[member->request->partition];
}

/* Pre-dispatch elements of an array that waits for `cause`. At most free_slots more may start (< 0: any number). */
void schedule_predispatch(struct schedule_cycle *cycle, struct schedule_member *member, const struct schedule_cause *cause,
			  int free_slots);

#endif
