/* lead_cycle_parts.h - the state of a scheduling cycle, for lead_cycle.c, lead_cycle_read.c and lead_cycle_write.c.
 *
 * Invariants:
 *  - lead_cycle.c calls the stages. Each function of the other files sends the SQL calls of one stage, and handles the
 *    answers. */
#ifndef ROTA_LEAD_CYCLE_PARTS_H
#define ROTA_LEAD_CYCLE_PARTS_H

#include "jobmgr/lead/lead_cycle.h"
#include "jobmgr/lead/lead_load.h"
#include "jobmgr/lead/lead_order.h"
#include "jobmgr/lead/lead_plan.h"
#include "jobmgr/lead/lead_prefetch.h"
#include "jobmgr/lead/lead_queue.h"
#include "jobmgr/lead/lead_rate.h"
#include "jobmgr/lead/lead_scan_limit.h"
#include "jobmgr/schedule/schedule.h"

enum lead_stage {
	LEAD_STAGE_IDLE,     /* no cycle runs */
	LEAD_STAGE_QUEUE,    /* read the tick and the queue: without a pending step, no other part of the snapshot is needed */
	LEAD_STAGE_SNAPSHOT, /* read the tick, the whole snapshot, and launch rows that the signer will probably need */
	LEAD_STAGE_REQUESTS, /* read uncached requests of queued steps; after LEAD_STAGE_QUEUE also the rest of the snapshot */
	LEAD_STAGE_DECIDE,   /* run the scheduler, without SQL calls */
	LEAD_STAGE_WITHDRAW, /* with node.ahead: withdraw pre-dispatched elements that the queue has after waiting steps */
	LEAD_STAGE_RESUME,   /* let suspended steps go on */
	LEAD_STAGE_WAKE,     /* ask for the power of nodes that are off, and for the setups of nodes, on which steps are placed */
	LEAD_STAGE_LAUNCH,   /* read the launch rows of the starts, unless they were prefetched */
	LEAD_STAGE_COMMIT,   /* commit starts with their signed launch requests, and refusals of rows that fail verification */
	LEAD_STAGE_AHEAD,    /* with node.ahead: read which steps may be sent to the nodes of the steps that they wait for */
	LEAD_STAGE_AHEAD_REQUESTS, /* read the requests and launch rows of the steps to send ahead */
	LEAD_STAGE_AHEAD_COMMIT,   /* commit the steps to send ahead with their signed launch requests */
	LEAD_STAGE_CANDIDATES,	   /* read which running steps may be preempted, if a waiting step may preempt them */
	LEAD_STAGE_PREEMPT,	   /* pick victims and commit the picks */
	LEAD_STAGE_MOVERS, /* with schedule.moves: read which running steps can be moved to make room for a waiting step */
	LEAD_STAGE_MOVING, /* read the requests of the steps that can be moved */
	LEAD_STAGE_MOVE,   /* propose moves and commit them */
	LEAD_STAGE_PLAN	   /* write the changes of the plan, after a full scan */
};

struct lead_read {
	struct lead_cycle *cycle;
	enum lead_set set;
};

struct lead_cycle {
	struct db *db;
	const struct conf *conf;
	const struct seal_mac_key *mac;
	const struct seal_sign_key *sign;
	lead_cycle_done *done;
	void *arg;
	/* begins the next stage; lead_cycle_answered() calls it when all SQL calls of the stage are answered */
	void (*advance)(struct lead_cycle *c);
	struct lead_read reads[LEAD_SETS];

	/* Members that are kept from one cycle to the next: */
	struct lead_plan *plan;
	double plan_at; /* time of the last write of the plan; monotonic seconds */
	struct lead_scan_limit scan_limit;
	struct lead_queue *queue;
	struct lead_prefetch prefetch;
	struct lead_rate rate;
	double withdraw_from; /* earliest time of the next withdrawal of pre-dispatched elements; monotonic seconds */
	double ahead_from;    /* time from which node.ahead applies again after a withdrawal; monotonic seconds */
	double ahead_at;      /* time of the last read of steps that may be sent ahead; monotonic seconds */
	double moves_from;    /* earliest time of the next search for moves; monotonic seconds */
	double cached_at;     /* time at which the cached requests and the cached plan were last dropped; monotonic seconds */
	/* stage with which the next cycle begins: LEAD_STAGE_SNAPSHOT after a cycle that left steps pending, else
	 * LEAD_STAGE_QUEUE */
	enum lead_stage first_stage;
	size_t partition_count; /* number of partitions in the last snapshot */

	/* Members of the running cycle: */
	enum lead_stage stage;
	enum lead_commit_mode mode;
	char term[24];
	struct schedule_policy policy;
	int waiting; /* number of SQL calls of the stage that are not answered yet */
	size_t left; /* number of starts and refusals that the database has not confirmed, as it skips steps of locked jobs */
	struct lead_rows *rows;
	struct lead_rows *moving; /* the requests of steps that can be moved; NULL: none were read */
	struct lead_rows *ahead;  /* steps that may be sent ahead; NULL: api.schedule_ahead was not called */
	bool preempted;		  /* victims were picked in this cycle */
	struct schedule_result *result;
	struct lead_outcome outcome;
};

/* Set the error of the cycle, which ends after this stage. Only the first error is kept. */
static inline void lead_cycle_fail(struct lead_cycle *c, const struct err *e)
{
	if (c->outcome.good)
		c->outcome.e = *e;
	c->outcome.good = false;
}

/* Count one SQL call of the stage as answered. After the last one the next stage begins. */
static inline void lead_cycle_answered(struct lead_cycle *c)
{
	if (--c->waiting == 0)
		c->advance(c);
}

/* lead_cycle_read.c: the SQL calls of stages that read. */
void lead_cycle_read_queue(struct lead_cycle *c);
void lead_cycle_read_snapshot(struct lead_cycle *c);
void lead_cycle_read_requests(struct lead_cycle *c);
void lead_cycle_read_launch(struct lead_cycle *c);
void lead_cycle_read_candidates(struct lead_cycle *c);
void lead_cycle_read_movers(struct lead_cycle *c);
void lead_cycle_read_moving(struct lead_cycle *c);

/* lead_cycle_write.c: the SQL calls of stages that write. */
void lead_cycle_write_withdrawals(struct lead_cycle *c);
void lead_cycle_write_resume(struct lead_cycle *c);
void lead_cycle_write_power(struct lead_cycle *c);
void lead_cycle_write_starts(struct lead_cycle *c);
void lead_cycle_write_preempt(struct lead_cycle *c);
void lead_cycle_write_moves(struct lead_cycle *c);
void lead_cycle_write_plan(struct lead_cycle *c);

/* Returns the arguments for the signer of the cycle's launch requests. */
struct lead_signer lead_cycle_signer(const struct lead_cycle *c);

/* lead_cycle_ahead.c: the stages that send steps ahead. */
void lead_cycle_read_ahead(struct lead_cycle *c);
void lead_cycle_read_ahead_requests(struct lead_cycle *c);
void lead_cycle_write_ahead(struct lead_cycle *c);

#endif
