/* schedule_preempt.h - picks running steps of lower tiers that are ended or suspended so that waiting steps can start. */
#ifndef ROTA_SCHEDULE_PREEMPT_H
#define ROTA_SCHEDULE_PREEMPT_H

#include "jobmgr/schedule/schedule.h"
#include "jobmgr/schedule/schedule_change.h"

/* A running step that may be preempted. */
struct schedule_candidate {
	int64_t job;
	int step;
	int attempt;
	int tier;
	double from_at; /* the step is not preempted before this time, the end of its minimal run time or later */
	double lost_s;	/* seconds of work that are lost if it ends now, on each of its CPUs */
	bool suspends;	/* the step is suspended, not ended: it keeps memory, devices and, unless gives_licenses, licences */
	bool gives_licenses;
};

/* A waiting step, or gang, and the steps that are ended for it. */
struct schedule_pick {
	const struct schedule_start *starts; /* starts of the members of the gang; `pending` is the index in the snapshot */
	size_t start_count;
	const struct schedule_candidate *const *victims;
	size_t victim_count;
};

struct schedule_picks {
	const struct schedule_pick *list;
	size_t count;
	size_t runs;   /* runs of the scheduler: the cost of the picks */
	bool has_more; /* the most `runs` were made: steps are left to the next cycle */
};

/* Does the step wait for resources or licences, which victims can free? */
bool schedule_preempt_may(const struct schedule_wait *wait);

/* Pick victims for steps that wait in `result`, the result of the scheduler for `snapshot`. Claims must be kept in the snapshot;
 * a step that has one waits for what it was promised. The picks are in `arena`. */
struct schedule_picks schedule_preempt(struct schedule_arena *arena, const struct schedule_snapshot *snapshot,
				       const struct schedule_policy *policy, const struct schedule_result *result,
				       const struct schedule_candidate *candidates, size_t candidate_count,
				       const struct schedule_claim *claims, size_t claim_count);

#endif
