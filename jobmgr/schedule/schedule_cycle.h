/* schedule_cycle.h - the state of one pass, and its two halves: deciding a unit, and letting it wait. */
#ifndef ROTA_SCHEDULE_CYCLE_H
#define ROTA_SCHEDULE_CYCLE_H

#include "jobmgr/schedule/schedule_record.h"
#include "jobmgr/schedule/schedule_reserve.h"
#include "jobmgr/schedule/schedule_gang.h"

/* What a pass knows of a partition. */
struct schedule_lane {
	bool blocked;
	size_t first;	 /* the step that blocked it */
	int foreseen[2]; /* waiting units whose start was worked out: for licences, and those that hold it */
	size_t unit;	 /* the last unit counted in them */
};

struct schedule_pass {
	const struct schedule_snapshot *snapshot;
	bool backfill;
	int reservations;
	struct schedule_cluster *cluster;
	struct schedule_profile *profile;
	struct schedule_fit *fit;
	struct schedule_set *set;
	struct schedule_reserve *reserve;
	struct schedule_record *record;
	struct schedule_view empty;
	struct schedule_lane *lane; /* by partition */
	size_t *closed;		    /* by licence: 1 + the step it goes to first, 0: open */
	size_t units;		    /* decided so far */
};

static inline struct schedule_lane *schedule_pass_lane(struct schedule_pass *pass, const struct schedule_member *member)
{
	return &pass->lane[member->request->partition];
}

/* An array is stuck for this cause, and so many more elements may start (below 0: any number): let some of them stand ahead. */
void schedule_ahead(struct schedule_pass *pass, struct schedule_member *member, const struct schedule_cause *cause, int room);

#endif
