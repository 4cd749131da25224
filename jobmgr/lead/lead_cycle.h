/* lead_cycle.h - one scheduling cycle: read, decide, sign, commit, write the plan. */
#ifndef ROTA_LEAD_CYCLE_H
#define ROTA_LEAD_CYCLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/conf.h"
#include "lib/db.h"
#include "lib/err.h"
#include "lib/seal.h"

struct lead_cycle;

/* How the starts of a cycle are committed. */
enum lead_commit_mode {
	LEAD_TOGETHER,	  /* many starts in one call; a job that stays locked fails the cycle with SQLSTATE 55P03 */
	LEAD_SKIP_LOCKED, /* many starts in one call; steps of locked jobs are left out */
	LEAD_ONE_BY_ONE	  /* each start, or gang, in its own call; steps of locked jobs are left out */
};

/* The outcome of a scheduling cycle. */
struct lead_outcome {
	bool good; /* false: an SQL call failed with the error `e`; earlier calls stay committed */
	struct err e;
	size_t moved;	      /* number of steps that were started or refused, and so are no longer pending */
	bool partial_failure; /* only in mode LEAD_ONE_BY_ONE: one start was not committed, and others may have been */
	bool postponed;	      /* starts or picks of victims were left to the next cycle on purpose */
	bool skipped_locked;  /* starts were left out because their jobs were locked */
	bool plan_postponed;  /* the plan has changed, but was written too recently to be written again */
	double transition_in; /* seconds until the next timer-driven transition of a step; INFINITY: none is known */
	double full_scan_in;  /* seconds until the next full scan of the queue is due; INFINITY: this cycle was a full scan */
};

typedef void lead_cycle_done(const struct lead_outcome *outcome, void *arg);

/* Make the state for scheduling cycles, which run one after the other. All arguments stay the caller's and must outlive the
 * result. */
struct lead_cycle *lead_cycle_new(struct db *db, const struct conf *conf, const struct seal_mac_key *mac,
				  const struct seal_sign_key *sign, lead_cycle_done *done, void *arg);
void lead_cycle_free(struct lead_cycle *cycle);

/* Run one scheduling cycle in the leader's term `term`. `done` is called once, from the event loop. */
void lead_cycle_run(struct lead_cycle *cycle, int64_t term, enum lead_commit_mode mode);
bool lead_cycle_is_running(const struct lead_cycle *cycle);

/* Drop all data that earlier scheduling cycles cached. Called when the leader's term ends. */
void lead_cycle_reset(struct lead_cycle *cycle);

#endif
