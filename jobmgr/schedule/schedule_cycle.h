/* schedule_cycle.h - the state of one pass, and its two halves: deciding a unit, and letting it wait. */
#ifndef ROTA_SCHEDULE_CYCLE_H
#define ROTA_SCHEDULE_CYCLE_H

#include "jobmgr/schedule/schedule_record.h"
#include "jobmgr/schedule/schedule_earliest.h"
#include "jobmgr/schedule/schedule_gang.h"

/* What a pass knows of a partition. */
struct schedule_partition_state {
	bool blocked;
	size_t first_blocked;  /* the step that blocked it */
	int expected_count[2]; /* waiting units whose start was worked out: for licences, and those that hold it */
	size_t last_gang;      /* the last unit counted in them */
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
	size_t *closed_by;				  /* by licence: 1 + the step it goes to first, 0: open */
	size_t gang_count;				  /* decided so far */
};

static inline struct schedule_partition_state *schedule_cycle_partition(struct schedule_cycle *cycle,
									const struct schedule_member *member)
{
	return &cycle->partition_state[member->request->partition];
}

/* An array is stuck for this cause, and so many more elements may start (below 0: any number): let some of them stand ahead. */
void schedule_predispatch(struct schedule_cycle *cycle, struct schedule_member *member, const struct schedule_cause *cause,
			  int free_slots);

#endif
