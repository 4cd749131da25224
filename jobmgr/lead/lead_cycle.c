/* lead_cycle.c - the stages of a scheduling cycle. Each stage sends its SQL calls in one round; the next stage begins when all
 * calls are answered.
 *
 * Called by: lead.c, one cycle at a time.
 * Invariants:
 *  - Every SQL call that changes something carries the leader's term, so the database rejects what a deposed leader commits.
 *  - Decisions rest on the snapshot of this cycle and on cached rows of the same version.
 *  - The first error ends the cycle after the stage in which it occurred. The next cycle reads again and decides again. */
#include "jobmgr/lead/lead_cycle.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "jobmgr/lead/lead_load.h"
#include "jobmgr/lead/lead_order.h"
#include "jobmgr/lead/lead_plan.h"
#include "jobmgr/lead/lead_prefetch.h"
#include "jobmgr/lead/lead_queue.h"
#include "jobmgr/lead/lead_rate.h"
#include "jobmgr/lead/lead_scan_limit.h"
#include "jobmgr/schedule/schedule.h"
#include "lib/clock.h"
#include "lib/log.h"

static const double plan_gap = 0.3;  /* seconds between two writes of the plan */
static const double cache_age = 300; /* seconds after which cached requests and the cached plan are dropped */

enum stage {
	STAGE_IDLE,	/* no cycle runs */
	STAGE_QUEUE,	/* read tick and queue: without a pending step, the rest of the snapshot is not needed */
	STAGE_SNAPSHOT, /* read tick, the whole snapshot, and launch rows that the signer will most likely need */
	STAGE_REQUESTS, /* read requests of queued steps that are not cached; after STAGE_QUEUE also the rest of the snapshot */
	STAGE_DECIDE,	/* run the scheduler, without SQL calls */
	STAGE_WAKE,	/* ask for the power of nodes that are off, and for the images of nodes, on which steps are placed */
	STAGE_LAUNCH,	/* read the launch rows of the starts, unless they were prefetched */
	STAGE_COMMIT,	/* commit starts with their signed launch requests, and refusals of rows that fail verification */
	STAGE_PLAN	/* write the changes of the plan, after a full scan */
};

struct read {
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
	struct read reads[LEAD_LAUNCH + 1];

	/* Members that are kept from cycle to cycle: */
	struct lead_plan *plan;
	double plan_at; /* when the plan was last written; monotonic seconds */
	struct lead_scan_limit scan_limit;
	struct lead_queue *queue;
	struct lead_prefetch prefetch;
	struct lead_rate rate;
	double cached_at; /* when the cached requests and the cached plan were last dropped; monotonic seconds */
	/* stage with which the next cycle begins: STAGE_SNAPSHOT after a cycle that left steps pending, else STAGE_QUEUE */
	enum stage first_stage;
	size_t partition_count; /* number of partitions in the last snapshot */

	/* Members of the running cycle: */
	enum stage stage;
	enum lead_commit_mode mode;
	char term[24];
	int waiting; /* number of SQL calls of the stage that are not answered yet */
	size_t left; /* number of starts and refusals that the database has not confirmed; it skips steps of locked jobs */
	struct lead_rows *rows;
	struct schedule_result *result;
	struct lead_outcome outcome;
};

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
	if (now > c->cached_at + cache_age)
		cycle_drop_caches(c, now);
	else if (!outcome.good || outcome.partial_failure)
		lead_queue_drop(c->queue);
	c->done(&outcome, c->arg);
}

/* Fail the cycle with an error. Only the first error is kept. */
static void cycle_fail(struct lead_cycle *c, const struct err *e)
{
	if (c->outcome.good)
		c->outcome.e = *e;
	c->outcome.good = false;
}

/* Stages that read: queue, snapshot, requests. */

static void cycle_advance(struct lead_cycle *c);

/* Note that one SQL call of the stage was answered. The last answer begins the next stage. */
static void cycle_answered(struct lead_cycle *c)
{
	if (--c->waiting == 0)
		cycle_advance(c);
}

/* Note that a read of the stage was answered. Its rows are loaded, unless it failed with `e`. */
static void cycle_loaded(struct lead_cycle *c, bool loaded, const struct err *e)
{
	if (!loaded)
		cycle_fail(c, e);
	cycle_answered(c);
}

static void tick_answered(struct db *db, PGresult *result, const struct err *e, void *arg)
{
	struct lead_cycle *c = arg;
	double next = INFINITY;
	struct err malformed;
	bool loaded = result && lead_load_tick(c->rows, result, &next, &malformed);

	(void)db;
	c->outcome.transition_in = next - c->rows->snapshot.now;
	cycle_loaded(c, loaded, result ? &malformed : e);
}

static void set_answered(struct db *db, PGresult *result, const struct err *e, void *arg)
{
	const struct read *read = arg;
	struct lead_cycle *c = read->cycle;
	struct err malformed;
	bool loaded = result && lead_load(c->rows, read->set, result, &malformed);

	(void)db;
	cycle_loaded(c, loaded, result ? &malformed : e);
}

static void requests_answered(struct db *db, PGresult *result, const struct err *e, void *arg)
{
	struct lead_cycle *c = arg;
	struct err malformed;
	bool loaded = result && lead_queue_load(c->queue, result, &malformed);

	(void)db;
	cycle_loaded(c, loaded, result ? &malformed : e);
}

static void cycle_call_tick(struct lead_cycle *c)
{
	c->waiting++;
	db_call(c->db, API_schedule_tick, (struct db_param[]){{c->term, -1}}, 1, tick_answered, c);
}

/* Read the result sets from `first` on, up to the one before `end`. */
static void cycle_call_sets(struct lead_cycle *c, int first, int end)
{
	char rows[16];

	snprintf(rows, sizeof rows, "%d", c->scan_limit.rows);
	c->waiting += end - first;
	for (int set = first; set < end; set++) {
		c->reads[set] = (struct read){c, (enum lead_set)set};
		db_call(c->db, lead_set_function((enum lead_set)set), (struct db_param[]){{rows, -1}}, set == LEAD_QUEUE,
			set_answered, &c->reads[set]);
	}
}

/* Read a result set for `count` steps, unless `count` is 0. Frees the arrays `jobs` and `steps`. */
static void cycle_call_for(struct lead_cycle *c, enum lead_set set, size_t count, struct db_array *jobs, struct db_array *steps,
			   db_answer *answer, void *arg)
{
	if (count > 0) {
		c->waiting++;
		db_call(c->db, lead_set_function(set),
			(struct db_param[]){{db_array_literal(jobs), -1}, {db_array_literal(steps), -1}}, 2, answer, arg);
	}
	db_array_free(jobs);
	db_array_free(steps);
}

static void cycle_call_launch(struct lead_cycle *c, size_t count, struct db_array *jobs, struct db_array *requests)
{
	c->reads[LEAD_LAUNCH] = (struct read){c, LEAD_LAUNCH};
	cycle_call_for(c, LEAD_LAUNCH, count, jobs, requests, set_answered, &c->reads[LEAD_LAUNCH]);
}

static void cycle_read_queue(struct lead_cycle *c)
{
	cycle_call_tick(c);
	cycle_call_sets(c, LEAD_QUEUE, LEAD_SNAPSHOT_SETS);
}

/* Read the snapshot. Launch rows are read after the queue, so that they are not older than the queue. */
static void cycle_read_snapshot(struct lead_cycle *c)
{
	struct db_array *jobs = db_array_new(), *requests = db_array_new();
	size_t count = lead_prefetch_list(&c->prefetch, jobs, requests);

	cycle_call_tick(c);
	cycle_call_sets(c, 0, LEAD_SNAPSHOT_SETS);
	cycle_call_launch(c, count, jobs, requests);
}

static void cycle_read_requests(struct lead_cycle *c)
{
	struct db_array *jobs = db_array_new(), *steps = db_array_new();
	bool pending = c->rows->queue_count > 0;

	if (c->first_stage == STAGE_QUEUE && pending)
		cycle_call_sets(c, 0, LEAD_QUEUE);
	c->first_stage = pending ? STAGE_SNAPSHOT : STAGE_QUEUE;
	cycle_call_for(c, LEAD_PENDING, lead_queue_list_missing(c->queue, c->rows, jobs, steps), jobs, steps, requests_answered,
		       c);
}

/* Stage that decides: the scheduler runs. */

static void cycle_decide(struct lead_cycle *c)
{
	struct schedule_policy policy = schedule_policy_default;

	lead_queue_fill(c->queue, c->rows);
	if (!*c->conf->controller_prolog) /* a pre-dispatched launch request would not wait for the controller's prolog */
		lead_rate_update(&c->rate, c->rows, clock_seconds());
	policy.backfill = c->conf->schedule_backfill > 0;
	policy.reservations = c->conf->schedule_backfill > 0 ? c->conf->schedule_backfill : 1;
	c->partition_count = c->rows->snapshot.partition_count;
	c->result = schedule_run(&c->rows->snapshot, &policy);
	lead_scan_limit_pause(&c->scan_limit, clock_seconds());
	lead_scan_limit_note_rows(&c->scan_limit, c->rows->snapshot.pending_count);
	/* If every pending step starts, the next queue is mostly empty. */
	c->first_stage = c->result->wait_count > 0 ? STAGE_SNAPSHOT : STAGE_QUEUE;
	log_debug("scheduling cycle: %zu pending, %zu running, %zu starts, %zu waits", c->rows->snapshot.pending_count,
		  c->rows->snapshot.running_count, c->result->start_count, c->result->wait_count);
}

/* Stage that asks for power. */

static void wake_answered(struct db *db, PGresult *result, const struct err *e, void *arg)
{
	struct lead_cycle *c = arg;

	(void)db;
	if (!result)
		cycle_fail(c, e);
	cycle_answered(c);
}

static void cycle_ask_images(struct lead_cycle *c)
{
	struct db_array *nodes = db_array_new(), *images = db_array_new();

	for (size_t i = 0; i < c->result->image_count; i++) {
		db_array_int(nodes, c->result->images[i].node_id);
		db_array_text(images, c->result->images[i].image);
	}
	c->waiting++;
	db_call(c->db, API_schedule_image,
		(struct db_param[]){{c->term, -1}, {db_array_literal(nodes), -1}, {db_array_literal(images), -1}}, 3,
		wake_answered, c);
	db_array_free(nodes);
	db_array_free(images);
}

static void cycle_wake(struct lead_cycle *c)
{
	struct db_array *nodes;

	if (c->result->image_count)
		cycle_ask_images(c);
	if (!c->result->wake_count)
		return;
	nodes = db_array_new();
	for (size_t i = 0; i < c->result->wake_count; i++)
		db_array_int(nodes, c->result->wake_ids[i]);
	c->waiting++;
	db_call(c->db, API_schedule_power, (struct db_param[]){{c->term, -1}, {db_array_literal(nodes), -1}}, 2, wake_answered,
		c);
	db_array_free(nodes);
}

/* Stage that reads launch rows. */

static void cycle_read_launch(struct lead_cycle *c)
{
	const struct schedule_start *starts = c->result->starts;

	if (lead_prefetch_is_complete(c->rows, c->result))
		return;
	struct db_array *jobs = db_array_new(), *requests = db_array_new();

	for (size_t i = 0; i < c->result->start_count; i++) {
		if (!lead_prefetch_is_first(c->rows, c->result, i))
			continue;
		db_array_int(jobs, starts[i].job);
		db_array_int(requests, c->rows->keys[starts[i].pending].request_id);
	}
	cycle_call_launch(c, c->result->start_count, jobs, requests);
}

/* Stage that commits starts and refusals. */

/* Note the started steps. The answer has a row for each step that has started. */
static void cycle_note_started(struct lead_cycle *c, const PGresult *result)
{
	int count = PQntuples(result);

	for (int i = 0; i < count; i++)
		lead_plan_note_start(c->plan, strtoll(PQgetvalue(result, i, 0), NULL, 10), atoi(PQgetvalue(result, i, 1)));
	c->outcome.moved += (size_t)count;
	if (c->mode != LEAD_TOGETHER)
		c->left -= (size_t)count;
}

static void commit_answered(struct db *db, PGresult *result, const struct err *e, void *arg)
{
	struct lead_cycle *c = arg;

	(void)db;
	if (result) {
		cycle_note_started(c, result);
	} else if (c->mode != LEAD_ONE_BY_ONE || strcmp(e->code, "RT412") == 0 || strncmp(e->code, "08", 2) == 0) {
		cycle_fail(c, e);
	} else {
		c->outcome.partial_failure = true;
		log_warning("the start of a step was not committed, the next scheduling cycle decides again: %s %s", e->code,
			    e->message);
	}
	cycle_answered(c);
}

static void refuse_answered(struct db *db, PGresult *result, const struct err *e, void *arg)
{
	struct lead_cycle *c = arg;
	size_t refused = result ? strtoull(PQgetvalue(result, 0, 0), NULL, 10) : 0;

	(void)db;
	c->outcome.moved += refused;
	c->left -= refused;
	if (!result)
		cycle_fail(c, e);
	cycle_answered(c);
}

static void cycle_call_refuse(struct lead_cycle *c, const struct lead_orders *orders)
{
	struct db_array *jobs = db_array_new(), *requests = db_array_new(), *reasons = db_array_new();

	for (size_t i = 0; i < orders->refused_count; i++) {
		db_array_int(jobs, orders->refused_jobs[i]);
		db_array_int(requests, orders->refused_requests[i]);
		db_array_text(reasons, "authenticator mismatch: the stored row is not what its owner submitted");
		log_error("job %lld: step number %d is not run: authenticator mismatch, its stored row is not what its owner "
			  "submitted",
			  (long long)orders->refused_jobs[i], orders->refused_requests[i]);
	}
	c->left += orders->refused_count;
	c->waiting++;
	db_call(c->db, API_schedule_refuse,
		(struct db_param[]){{c->term, -1},
				    {db_array_literal(jobs), -1},
				    {db_array_literal(requests), -1},
				    {db_array_literal(reasons), -1}},
		4, refuse_answered, c);
	db_array_free(jobs);
	db_array_free(requests);
	db_array_free(reasons);
}

static void cycle_call_commit(struct lead_cycle *c, const struct lead_commit *commit)
{
	char *starts = json_dumps(commit->starts, JSON_COMPACT), *signed_orders = json_dumps(commit->orders, JSON_COMPACT);
	bool waits = c->mode == LEAD_TOGETHER; /* the commit waits for locks of jobs, up to the database's lock timeout */

	if (!starts || !signed_orders)
		die("could not write starts and launch requests as JSON");
	c->waiting++;
	if (!waits)
		c->left += json_array_size(commit->starts);
	db_call(c->db, API_schedule_commit,
		(struct db_param[]){{c->term, -1}, {starts, -1}, {signed_orders, -1}, {waits ? "true" : "false", -1}}, 4,
		commit_answered, c);
	free(starts);
	free(signed_orders);
}

static void cycle_commit(struct lead_cycle *c)
{
	struct lead_signer signer = {
		.mac = c->mac,
		.sign = c->sign,
		.grace_s = c->conf->node_grace,
		.expires_at = (int64_t)time(NULL) + c->conf->schedule_order_lifetime +
			      /* the launch request waits for the controller's prolog, and for pre_run of burst_buffer.lua */
			      (*c->conf->controller_prolog ? c->conf->controller_hook_timeout : 0) +
			      (*c->conf->hooks_burst_buffer ? c->conf->hooks_other_timeout : 0),
		.separate = *c->conf->controller_prolog != '\0',
	};
	struct lead_orders *orders = lead_orders_make(c->rows, c->result, &signer, c->mode == LEAD_ONE_BY_ONE);

	lead_prefetch_note(&c->prefetch, c->rows, c->result);
	c->outcome.postponed = orders->postponed;
	if (orders->refused_count > 0)
		cycle_call_refuse(c, orders);
	for (size_t i = 0; i < orders->commit_count; i++)
		cycle_call_commit(c, &orders->commits[i]);
	lead_orders_free(orders);
}

/* Stage that writes the plan. */

static void plan_answered(struct db *db, PGresult *result, const struct err *e, void *arg)
{
	struct lead_cycle *c = arg;

	(void)db;
	if (result) {
		c->plan_at = clock_seconds();
		lead_scan_limit_pause(&c->scan_limit, c->plan_at);
	} else {
		lead_plan_drop(c->plan);
		cycle_fail(c, e);
	}
	cycle_answered(c);
}

static void cycle_call_plan(struct lead_cycle *c, const struct lead_plan_changes *changes)
{
	char *waits = lead_plan_changes_json(changes, c->rows);

	lead_plan_note_written(c->plan, c->result);
	c->waiting++;
	db_call(c->db, API_schedule_plan,
		(struct db_param[]){{c->term, -1},
				    {waits, -1},
				    {changes->whole ? NULL : db_array_literal(changes->gone_jobs), -1},
				    {changes->whole ? NULL : db_array_literal(changes->gone_steps), -1}},
		4, plan_answered, c);
	free(waits);
}

/* Write the changes of the plan. A short scan does not see every waiting step, so it writes no plan. */
static void cycle_write_plan(struct lead_cycle *c)
{
	if (!c->scan_limit.full)
		return;
	lead_scan_limit_resume(&c->scan_limit, clock_seconds());
	struct lead_plan_changes *changes = lead_plan_compare(c->plan, c->result);
	bool changed = lead_plan_changes_any(changes);

	c->outcome.plan_postponed = changed && clock_seconds() - c->plan_at < plan_gap;
	if (changed && !c->outcome.plan_postponed)
		cycle_call_plan(c, changes);
	else
		lead_scan_limit_pause(&c->scan_limit, clock_seconds());
	lead_plan_changes_free(changes);
}

/* Order of the stages. */

static enum stage stage_after(const struct lead_cycle *c)
{
	if (!c->outcome.good)
		return STAGE_IDLE;
	switch (c->stage) {
	case STAGE_QUEUE:
	case STAGE_SNAPSHOT:
		return STAGE_REQUESTS;
	case STAGE_REQUESTS:
		return STAGE_DECIDE;
	case STAGE_DECIDE:
		return STAGE_WAKE;
	case STAGE_WAKE:
		return c->result->start_count > 0 ? STAGE_LAUNCH : STAGE_PLAN;
	case STAGE_LAUNCH:
		return STAGE_COMMIT;
	case STAGE_COMMIT:
		return STAGE_PLAN;
	case STAGE_PLAN:
	case STAGE_IDLE:
		break;
	}
	return STAGE_IDLE;
}

static void (*const stage_begin[])(struct lead_cycle *c) = {
	[STAGE_IDLE] = cycle_end,
	[STAGE_QUEUE] = cycle_read_queue,
	[STAGE_SNAPSHOT] = cycle_read_snapshot,
	[STAGE_REQUESTS] = cycle_read_requests,
	[STAGE_DECIDE] = cycle_decide,
	[STAGE_WAKE] = cycle_wake,
	[STAGE_LAUNCH] = cycle_read_launch,
	[STAGE_COMMIT] = cycle_commit,
	[STAGE_PLAN] = cycle_write_plan,
};

/* Begin the next stage. If it sends no SQL call, begin the one after it, and so on. */
static void cycle_advance(struct lead_cycle *c)
{
	do {
		c->outcome.skipped_locked = c->left > 0;
		c->stage = stage_after(c);
		stage_begin[c->stage](c);
	} while (c->waiting == 0 && c->stage != STAGE_IDLE);
}

void lead_cycle_run(struct lead_cycle *c, int64_t term, enum lead_commit_mode mode)
{
	double now = clock_seconds();

	c->mode = mode;
	c->left = 0;
	c->outcome = (struct lead_outcome){.good = true, .transition_in = INFINITY};
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
	return c->stage != STAGE_IDLE;
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
	c->first_stage = STAGE_QUEUE;
	return c;
}

void lead_cycle_free(struct lead_cycle *c)
{
	if (!c)
		return;
	schedule_result_free(c->result);
	lead_rows_free(c->rows);
	lead_queue_free(c->queue);
	lead_plan_free(c->plan);
	free(c);
}
