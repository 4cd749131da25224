/* schedule_cycle.h - the state of one run of the scheduler, for schedule.c, schedule_decide.c, schedule_wait.c and
 * schedule_predispatch.c. */
#ifndef ROTA_SCHEDULE_CYCLE_H
#define ROTA_SCHEDULE_CYCLE_H

#include "jobmgr/schedule/schedule_earliest.h"
#include "jobmgr/schedule/schedule_gang.h"
#include "jobmgr/schedule/schedule_record.h"

/* State of a partition in one run of the scheduler. */
struct schedule_partition_state {
	bool blocked;
	size_t first_blocked; /* index of the pending step that blocked the partition */
	/* number of waiting gangs whose expected start was worked out: [0] gangs that wait for licences, [1] gangs that wait
	 * for nodes */
	int expected_count[2];
	size_t last_gang; /* number of the gang that was last counted in expected_count */
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
	struct schedule_partition_state *partition_state; /* state of each partition, by its index in the snapshot */
	/* by licence: 1 + index of the pending step that the licence is kept for; 0: the licence is open to all */
	size_t *closed_by;
	size_t gang_count;    /* number of gangs decided so far in this run */
	bool waits_for_nodes; /* the gang that was placed last waits for the power or the setup of its nodes */
};

static inline struct schedule_partition_state *schedule_cycle_partition(struct schedule_cycle *cycle,
									const struct schedule_member *member)
{
	return &cycle->partition_state[member->request->partition];
}

/* Start the gang, or have it wait for the power or the setup of its nodes alone. Returns false if the gang waits for `cause`;
 * then `stuck` is the member that does not fit. */
bool schedule_decide_gang(struct schedule_cycle *cycle, struct schedule_gang *gang, size_t *stuck, struct schedule_cause *cause);

/* Record why the gang waits, block its partitions and close licences as the cause says, and work out its expected start. */
void schedule_wait_gang(struct schedule_cycle *cycle, struct schedule_gang *gang, size_t stuck,
			const struct schedule_cause *cause);

/* Pre-dispatch elements of an array that waits for `cause`. At most free_slots more elements may start (< 0: any number). */
void schedule_predispatch(struct schedule_cycle *cycle, struct schedule_member *member, const struct schedule_cause *cause,
			  int free_slots);

#endif
