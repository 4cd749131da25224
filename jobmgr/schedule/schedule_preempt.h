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
	double lost_s;	/* seconds of work that are lost on each CPU of the step if it ends now */
	bool suspends;	/* the step is suspended, not ended: it keeps memory, devices and licences, but for what it gives back */
	struct schedule_gives gives;
};

/* A waiting step or gang, and its victims: the steps that are ended or suspended for it. */
struct schedule_pick {
	const struct schedule_start *starts; /* starts of the members of the gang; `pending` is the index in the snapshot */
	size_t start_count;
	const struct schedule_candidate *const *victims;
	size_t victim_count;
};

struct schedule_picks {
	const struct schedule_pick *list;
	size_t count;
	size_t runs;   /* number of runs of the scheduler that the picks took */
	bool has_more; /* the limit of `runs` was reached: other steps are tried in the next cycle */
};

/* Returns true if the step of `wait` waits for resources or licences, which victims can free. */
bool schedule_preempt_may(const struct schedule_wait *wait);

/* Pick victims for steps that wait in `result`, the result of the scheduler for `snapshot`. The snapshot must have the claims
 * as reserved rows; a step with a claim waits for it, and gets no second pick. The picks are in `arena`. */
struct schedule_picks schedule_preempt(struct schedule_arena *arena, const struct schedule_snapshot *snapshot,
				       const struct schedule_policy *policy, const struct schedule_result *result,
				       const struct schedule_candidate *candidates, size_t candidate_count,
				       const struct schedule_claim *claims, size_t claim_count);

#endif
