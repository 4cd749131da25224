/* schedule_victims.h - the order in which candidates are tried as victims for one waiting step. */
#ifndef ROTA_SCHEDULE_VICTIMS_H
#define ROTA_SCHEDULE_VICTIMS_H

#include "jobmgr/schedule/schedule_change.h"
#include "jobmgr/schedule/schedule_preempt.h"

/* A candidate with its running rows. */
struct schedule_victim {
	const struct schedule_candidate *candidate;
	const size_t *rows; /* indexes in the running rows of the snapshot */
	size_t row_count;
	double lost; /* CPU seconds of work that are lost if the candidate is ended */
	bool taken;  /* the candidate is the victim of an earlier pick */
	bool listed; /* the candidate is in the list that schedule_victims_order() makes */
};

/* Fill `list` with victims for a step in the order in which to try them, and return their number. Node by node come those that
 * make room on it, fewest and cheapest first, then all others. Left out are victims of tiers above `level` and taken ones.
 * *size is the number of victims that make room on the first node. */
size_t schedule_victims_order(struct schedule_arena *arena, const struct schedule_snapshot *snapshot,
			      const struct schedule_pending *step, struct schedule_victim *victims, size_t count, int level,
			      struct schedule_victim **list, size_t *size);

#endif
