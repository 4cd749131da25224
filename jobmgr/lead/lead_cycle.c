/* lead_cycle.c - the order of the stages of a scheduling cycle, and the stage that decides. Each stage sends its SQL calls in one
 * round (lead_cycle_read.c, lead_cycle_write.c); the next stage begins when all calls are answered.
 *
 * Called by: lead.c, one cycle at a time.
 * Invariants:
 *  - Decisions use only the snapshot of this cycle and cached rows of the same version.
 *  - The first error ends the cycle after the stage in which it occurred. The next cycle reads again and decides again. */
#include "jobmgr/lead/lead_cycle_parts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "jobmgr/lead/lead_preempt.h"
#include "jobmgr/lead/lead_resume.h"
#include "lib/clock.h"
#include "lib/log.h"

static const double cache_age = 300; /* seconds after which cached requests and the cached plan are dropped */

static void cycle_drop_caches(struct lead_cycle *c, double now)
{
	lead_queue_drop(c->queue);
	lead_plan_drop(c->plan);
	c->cached_at = now;
}

static void cycle_end(struct lead_cycle *c)
{
	struct lead_outcome outcome = c->outcome;
	double now = clock_seconds();

	lead_scan_limit_end(&c->scan_limit, outcome.moved, now);
	outcome.full_scan_in = lead_scan_limit_full_in(&c->scan_limit, now);
	schedule_result_free(c->result);
	c->result = NULL;
	lead_rows_free(c->rows);
	c->rows = NULL;
	lead_rows_free(c->moving);
	c->moving = NULL;
	lead_rows_free(c->ahead);
	c->ahead = NULL;
	if (now > c->cached_at + cache_age)
		cycle_drop_caches(c, now);
	else if (!outcome.good || outcome.partial_failure)
		lead_queue_drop(c->queue);
	c->done(&outcome, c->arg);
}

/* LEAD_STAGE_DECIDE: the scheduler runs. */

/* Returns the seconds of work that pre-dispatched elements may keep nodes busy for: node.ahead, but 0, the default, for
 * node.ahead seconds after a withdrawal. Each withdrawn element is queued by itself, so a leader that sent and withdrew the
 * same elements again and again would lose time. */
static int cycle_ahead_s(const struct lead_cycle *c)
{
	return clock_seconds() < c->ahead_from ? 0 : c->conf->node_ahead;
}

static void cycle_decide(struct lead_cycle *c)
{
	lead_queue_fill(c->queue, c->rows);
	if (!*c->conf->controller_prolog) /* a pre-dispatched launch request would not wait for the controller's prolog */
		lead_rate_update(&c->rate, c->rows, cycle_ahead_s(c), clock_seconds());
	lead_preempt_keep(c->rows);
	lead_resume_choose(c->rows, &c->policy);
	c->partition_count = c->rows->snapshot.partition_count;
	c->result = schedule_run(&c->rows->snapshot, &c->policy);
	lead_scan_limit_pause(&c->scan_limit, clock_seconds());
	lead_scan_limit_note_rows(&c->scan_limit, c->rows->snapshot.pending_count);
	/* After a cycle in which every pending step starts, the next cycle mostly finds an empty queue. */
	c->first_stage = c->result->wait_count > 0 ? LEAD_STAGE_SNAPSHOT : LEAD_STAGE_QUEUE;
	log_debug("scheduling cycle: %zu pending, %zu running, %zu starts, %zu waits", c->rows->snapshot.pending_count,
		  c->rows->snapshot.running_count, c->result->start_count, c->result->wait_count);
}

/* The order of the stages. */

static enum lead_stage stage_after(const struct lead_cycle *c)
{
	if (!c->outcome.good)
		return LEAD_STAGE_IDLE;
	switch (c->stage) {
	case LEAD_STAGE_QUEUE:
	case LEAD_STAGE_SNAPSHOT:
		return LEAD_STAGE_REQUESTS;
	case LEAD_STAGE_REQUESTS:
		return LEAD_STAGE_DECIDE;
	case LEAD_STAGE_DECIDE:
		return LEAD_STAGE_WITHDRAW;
	case LEAD_STAGE_WITHDRAW:
		return LEAD_STAGE_RESUME;
	case LEAD_STAGE_RESUME:
		return LEAD_STAGE_WAKE;
	case LEAD_STAGE_WAKE:
		return c->result->start_count > 0 ? LEAD_STAGE_LAUNCH : LEAD_STAGE_AHEAD;
	case LEAD_STAGE_LAUNCH:
		return LEAD_STAGE_COMMIT;
	case LEAD_STAGE_COMMIT:
		return LEAD_STAGE_AHEAD;
	case LEAD_STAGE_AHEAD:
		return LEAD_STAGE_AHEAD_REQUESTS;
	case LEAD_STAGE_AHEAD_REQUESTS:
		return LEAD_STAGE_AHEAD_COMMIT;
	case LEAD_STAGE_AHEAD_COMMIT:
		return LEAD_STAGE_CANDIDATES;
	case LEAD_STAGE_CANDIDATES:
		return LEAD_STAGE_PREEMPT;
	case LEAD_STAGE_PREEMPT:
		return LEAD_STAGE_MOVERS;
	case LEAD_STAGE_MOVERS:
		return LEAD_STAGE_MOVING;
	case LEAD_STAGE_MOVING:
		return LEAD_STAGE_MOVE;
	case LEAD_STAGE_MOVE:
		return LEAD_STAGE_PLAN;
	case LEAD_STAGE_PLAN:
	case LEAD_STAGE_IDLE:
		break;
	}
	return LEAD_STAGE_IDLE;
}

static void (*const stage_begin[])(struct lead_cycle *c) = {
	[LEAD_STAGE_IDLE] = cycle_end,
	[LEAD_STAGE_QUEUE] = lead_cycle_read_queue,
	[LEAD_STAGE_SNAPSHOT] = lead_cycle_read_snapshot,
	[LEAD_STAGE_REQUESTS] = lead_cycle_read_requests,
	[LEAD_STAGE_DECIDE] = cycle_decide,
	[LEAD_STAGE_WITHDRAW] = lead_cycle_write_withdrawals,
	[LEAD_STAGE_RESUME] = lead_cycle_write_resume,
	[LEAD_STAGE_WAKE] = lead_cycle_write_power,
	[LEAD_STAGE_LAUNCH] = lead_cycle_read_launch,
	[LEAD_STAGE_COMMIT] = lead_cycle_write_starts,
	[LEAD_STAGE_AHEAD] = lead_cycle_read_ahead,
	[LEAD_STAGE_AHEAD_REQUESTS] = lead_cycle_read_ahead_requests,
	[LEAD_STAGE_AHEAD_COMMIT] = lead_cycle_write_ahead,
	[LEAD_STAGE_CANDIDATES] = lead_cycle_read_candidates,
	[LEAD_STAGE_PREEMPT] = lead_cycle_write_preempt,
	[LEAD_STAGE_MOVERS] = lead_cycle_read_movers,
	[LEAD_STAGE_MOVING] = lead_cycle_read_moving,
	[LEAD_STAGE_MOVE] = lead_cycle_write_moves,
	[LEAD_STAGE_PLAN] = lead_cycle_write_plan,
};

/* Begin the next stage. If a stage sends no SQL call, begin the one after it at once. */
static void cycle_advance(struct lead_cycle *c)
{
	do {
		c->outcome.skipped_locked = c->left > 0;
		c->stage = stage_after(c);
		stage_begin[c->stage](c);
	} while (c->waiting == 0 && c->stage != LEAD_STAGE_IDLE);
}

void lead_cycle_run(struct lead_cycle *c, int64_t term, enum lead_commit_mode mode)
{
	double now = clock_seconds();

	c->mode = mode;
	c->left = 0;
	c->preempted = false;
	c->outcome = (struct lead_outcome){.good = true, .transition_in = INFINITY};
	c->policy = schedule_policy_default;
	c->policy.backfill = c->conf->schedule_backfill > 0;
	c->policy.reservations = c->conf->schedule_backfill > 0 ? c->conf->schedule_backfill : 1;
	c->rows = lead_rows_new(0);
	snprintf(c->term, sizeof c->term, "%lld", (long long)term);
	lead_scan_limit_begin(&c->scan_limit, c->conf->schedule_depth, c->partition_count > 1 ? c->conf->schedule_backfill : 0,
			      now);
	lead_scan_limit_resume(&c->scan_limit, now);
	c->stage = c->first_stage;
	stage_begin[c->stage](c);
}

bool lead_cycle_is_running(const struct lead_cycle *c)
{
	return c->stage != LEAD_STAGE_IDLE;
}

void lead_cycle_reset(struct lead_cycle *c)
{
	lead_plan_drop(c->plan);
	c->scan_limit = (struct lead_scan_limit){0};
	c->prefetch.count = 0;
	if (!lead_cycle_is_running(c)) /* a running cycle's snapshot refers to cached requests */
		cycle_drop_caches(c, clock_seconds());
}

struct lead_cycle *lead_cycle_new(struct db *db, const struct conf *conf, const struct seal_mac_key *mac,
				  const struct seal_sign_key *sign, lead_cycle_done *done, void *arg)
{
	struct lead_cycle *c = xcalloc(1, sizeof *c);

	c->queue = lead_queue_new();
	c->plan = lead_plan_new();
	c->db = db;
	c->conf = conf;
	c->mac = mac;
	c->sign = sign;
	c->done = done;
	c->arg = arg;
	c->advance = cycle_advance;
	c->first_stage = LEAD_STAGE_QUEUE;
	return c;
}

void lead_cycle_free(struct lead_cycle *c)
{
	if (!c)
		return;
	schedule_result_free(c->result);
	lead_rows_free(c->rows);
	lead_rows_free(c->moving);
	lead_rows_free(c->ahead);
	lead_queue_free(c->queue);
	lead_plan_free(c->plan);
	free(c);
}
