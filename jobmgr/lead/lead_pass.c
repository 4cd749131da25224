/* lead_pass.c - the flow of a pass, each stage one round of calls:
 *
 *   read          what time alone brings (tick; fails when another jobmgrd leads), behind it the snapshot, and what the signer will
 *                 need if arrays go on as in the last pass; behind one that found nothing pending, the queue first
 *   ask           what is not known yet of steps of the queue (lead_queue.c)
 *   launch        what the signer needs of the steps that the scheduler starts, and does not have yet (lead_expect.c)
 *   commit        starts with their signed orders; refusals of what may not be signed
 *   plan          why the others wait, as far as that has changed
 *
 * lead.c runs one pass at a time. What always holds: every call carries the term, so nothing of a deposed leader is committed;
 * decisions rest on the snapshot of this pass alone; a pass that meets an error ends there, and what the database refused is
 * simply decided anew from what it then says. */
#include "jobmgr/lead/lead_pass.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "jobmgr/lead/lead_depth.h"
#include "jobmgr/lead/lead_expect.h"
#include "jobmgr/lead/lead_load.h"
#include "jobmgr/lead/lead_order.h"
#include "jobmgr/lead/lead_pace.h"
#include "jobmgr/lead/lead_plan.h"
#include "jobmgr/lead/lead_queue.h"
#include "jobmgr/schedule/schedule.h"
#include "lib/clock.h"
#include "lib/log.h"

static const double plan_gap = 0.3; /* seconds between two writings of the plan */
static const double kept_age = 300; /* seconds for which what is known of the queue and the plan is kept at the most */

struct read {
	struct lead_pass *pass;
	enum lead_set set;
};

struct lead_pass {
	struct db *db;
	const struct conf *conf;
	const struct seal_mac_key *mac;
	const struct seal_sign_key *sign;
	lead_pass_done *done;
	void *arg;
	struct read reads[LEAD_LAUNCH + 1];
	struct lead_plan *plan;
	double plan_at; /* when it was written, monotonic seconds */
	struct lead_depth depth;
	struct lead_queue *queue;
	struct lead_expect expect;
	struct lead_pace pace;
	double kept_at; /* when nothing was kept of queue and plan; monotonic seconds */
	bool queued;	/* the last pass left something pending */
	bool several;	/* there are partitions beside each other, as far as the last pass knows */

	/* of the running pass */
	bool running, apart, around;
	bool peeks; /* the queue is read alone: without any, the rest is of no use */
	bool asked; /* what is not known of it */
	char term[24];
	int waiting; /* answers still to come in this stage */
	size_t left; /* steps that were to start or be refused, and have not been, perhaps since their jobs are locked */
	struct lead_rows *rows;
	struct schedule_result *result;
	struct lead_outcome outcome;
};

static void pass_forget_kept(struct lead_pass *p, double now)
{
	lead_queue_forget(p->queue);
	lead_plan_forget(p->plan);
	p->kept_at = now;
}

static void pass_end(struct lead_pass *p)
{
	struct lead_outcome outcome = p->outcome;
	double now = clock_seconds();

	lead_depth_end(&p->depth, outcome.moved, now);
	outcome.whole_in = lead_depth_due_in(&p->depth, now);
	schedule_result_free(p->result);
	p->result = NULL;
	lead_rows_free(p->rows);
	p->rows = NULL;
	if (now > p->kept_at + kept_age)
		pass_forget_kept(p, now);
	else if (!outcome.good || outcome.spoiled)
		lead_queue_forget(p->queue);
	p->running = false;
	p->done(&outcome, p->arg);
}

/* Note the first error of a stage. */
static void pass_fail(struct lead_pass *p, const struct err *e)
{
	if (p->outcome.good)
		p->outcome.e = *e;
	p->outcome.good = false;
}

/* Whether the stage is over, with its error or without. */
static bool pass_stage_over(struct lead_pass *p, const PGresult *result, const struct err *e)
{
	if (!result)
		pass_fail(p, e);
	return --p->waiting == 0;
}

/* What a set has of so many steps or requests, unless that is none; frees the arrays. */
static void pass_call(struct lead_pass *p, enum lead_set set, size_t count, struct db_array *jobs, struct db_array *steps,
		      db_answer *came, void *arg)
{
	if (count > 0) {
		p->waiting++;
		db_call(p->db, lead_set_function(set),
			(struct db_param[]){{db_array_literal(jobs), -1}, {db_array_literal(steps), -1}}, 2, came, arg);
	}
	db_array_free(jobs);
	db_array_free(steps);
}

/* plan */

static void plan_came(struct db *db, PGresult *result, const struct err *e, void *arg)
{
	struct lead_pass *p = arg;

	(void)db;
	if (result) {
		p->plan_at = clock_seconds();
		lead_depth_leave(&p->depth, p->plan_at);
	} else {
		lead_plan_forget(p->plan);
		pass_fail(p, e);
	}
	pass_end(p);
}

static void pass_write_plan(struct lead_pass *p, const struct lead_news *news)
{
	char *said = lead_news_text(news, p->rows);

	lead_plan_note(p->plan, p->result);
	db_call(p->db, API_schedule_plan,
		(struct db_param[]){{p->term, -1},
				    {said, -1},
				    {news->whole ? NULL : db_array_literal(news->gone_jobs), -1},
				    {news->whole ? NULL : db_array_literal(news->gone_steps), -1}},
		4, plan_came, p);
	free(said);
}

/* Only of a whole pass: a quick one does not know of all that wait. */
static void pass_plan(struct lead_pass *p)
{
	if (!p->depth.whole) {
		pass_end(p);
		return;
	}
	lead_depth_enter(&p->depth, clock_seconds());
	struct lead_news *news = lead_plan_compare(p->plan, p->result);
	bool changed = lead_news_any(news);

	p->outcome.plan_is_late = changed && clock_seconds() - p->plan_at < plan_gap;
	if (changed && !p->outcome.plan_is_late) {
		pass_write_plan(p, news);
	} else {
		lead_depth_leave(&p->depth, clock_seconds());
		pass_end(p);
	}
	lead_news_free(news);
}

/* commit */

static void pass_stored(struct lead_pass *p)
{
	p->outcome.locked = p->left > 0;
	if (p->outcome.good)
		pass_plan(p);
	else
		pass_end(p);
}

/* A start on its own failed: that is its own affair. */
static void pass_spoil(struct lead_pass *p, const struct err *e)
{
	p->outcome.spoiled = true;
	log_warning("a start was not committed: %s %s", e->code, e->message);
}

/* The steps that have started, each with a row of the answer. */
static void pass_started(struct lead_pass *p, const PGresult *result)
{
	int count = PQntuples(result);

	for (int i = 0; i < count; i++)
		lead_plan_start(p->plan, strtoll(PQgetvalue(result, i, 0), NULL, 10), atoi(PQgetvalue(result, i, 1)));
	p->outcome.moved += (size_t)count;
	if (p->around)
		p->left -= (size_t)count;
}

static void commit_came(struct db *db, PGresult *result, const struct err *e, void *arg)
{
	struct lead_pass *p = arg;

	(void)db;
	if (result)
		pass_started(p, result);
	else if (!p->apart || strcmp(e->code, "RT412") == 0 || strncmp(e->code, "08", 2) == 0)
		pass_fail(p, e);
	else
		pass_spoil(p, e);
	if (--p->waiting == 0)
		pass_stored(p);
}

static void refuse_came(struct db *db, PGresult *result, const struct err *e, void *arg)
{
	struct lead_pass *p = arg;
	size_t refused = result ? strtoull(PQgetvalue(result, 0, 0), NULL, 10) : 0;

	(void)db;
	p->outcome.moved += refused;
	p->left -= refused;
	if (pass_stage_over(p, result, e))
		pass_stored(p);
}

static void pass_refuse(struct lead_pass *p, const struct lead_orders *orders)
{
	struct db_array *jobs = db_array_new(), *requests = db_array_new(), *reasons = db_array_new();

	for (size_t i = 0; i < orders->refused_count; i++) {
		db_array_int(jobs, orders->refused_jobs[i]);
		db_array_int(requests, orders->refused_requests[i]);
		db_array_text(reasons, "its authenticator does not fit: the row is not what its owner submitted");
		log_error("step %d of job %lld is refused: its authenticator does not fit what is stored",
			  orders->refused_requests[i], (long long)orders->refused_jobs[i]);
	}
	p->left += orders->refused_count;
	p->waiting++;
	db_call(p->db, API_schedule_refuse,
		(struct db_param[]){{p->term, -1},
				    {db_array_literal(jobs), -1},
				    {db_array_literal(requests), -1},
				    {db_array_literal(reasons), -1}},
		4, refuse_came, p);
	db_array_free(jobs);
	db_array_free(requests);
	db_array_free(reasons);
}

static void pass_commit_one(struct lead_pass *p, const struct lead_commit *commit)
{
	char *starts = json_dumps(commit->starts, JSON_COMPACT), *signed_orders = json_dumps(commit->orders, JSON_COMPACT);

	if (!starts || !signed_orders)
		die("could not write orders as JSON");
	p->waiting++;
	if (p->around)
		p->left += json_array_size(commit->starts);
	db_call(p->db, API_schedule_commit,
		(struct db_param[]){{p->term, -1}, {starts, -1}, {signed_orders, -1}, {p->around ? "false" : "true", -1}}, 4,
		commit_came, p);
	free(starts);
	free(signed_orders);
}

static void pass_commit(struct lead_pass *p)
{
	struct lead_signer signer = {
		.mac = p->mac,
		.sign = p->sign,
		.grace_s = p->conf->node_grace,
		.expires_at = (int64_t)time(NULL) + p->conf->schedule_order_lifetime +
			      (*p->conf->controller_prolog ? p->conf->controller_hook_timeout : 0), /* the order waits for it */
		.each = *p->conf->controller_prolog != '\0',
	};
	struct lead_orders *orders = lead_orders_make(p->rows, p->result, &signer, p->apart);

	lead_expect_note(&p->expect, p->rows, p->result);
	p->outcome.left_over = orders->left_over;
	if (orders->refused_count > 0)
		pass_refuse(p, orders);
	for (size_t i = 0; i < orders->commit_count; i++)
		pass_commit_one(p, &orders->commits[i]);
	lead_orders_free(orders);
	if (p->waiting == 0)
		pass_plan(p);
}

/* launch */

static void launch_came(struct db *db, PGresult *result, const struct err *e, void *arg)
{
	struct lead_pass *p = arg;
	struct err mine;

	(void)db;
	if (result && !lead_load(p->rows, LEAD_LAUNCH, result, &mine)) {
		result = NULL;
		e = &mine;
	}
	pass_stage_over(p, result, e);
	if (p->outcome.good)
		pass_commit(p);
	else
		pass_end(p);
}

static void pass_launch(struct lead_pass *p)
{
	if (lead_expect_met(p->rows, p->result)) {
		pass_commit(p);
		return;
	}
	struct db_array *jobs = db_array_new(), *requests = db_array_new();
	const struct schedule_start *starts = p->result->starts;

	for (size_t i = 0; i < p->result->start_count; i++) {
		if (!lead_expect_first(p->rows, p->result, i))
			continue;
		db_array_int(jobs, starts[i].job);
		db_array_int(requests, p->rows->keys[starts[i].pending].request_id);
	}
	pass_call(p, LEAD_LAUNCH, p->result->start_count, jobs, requests, launch_came, p);
}

/* decide */

static void pass_decide(struct lead_pass *p)
{
	struct schedule_policy policy = schedule_policy_default;

	lead_queue_fill(p->queue, p->rows);
	if (!*p->conf->controller_prolog) /* an order that stands ahead would not wait for it */
		lead_pace_read(&p->pace, p->rows, clock_seconds());
	policy.backfill = p->conf->schedule_backfill > 0;
	policy.reservations = p->conf->schedule_backfill > 0 ? p->conf->schedule_backfill : 1;
	p->several = p->rows->snapshot.partition_count > 1;
	p->result = schedule_run(&p->rows->snapshot, &policy);
	lead_depth_leave(&p->depth, clock_seconds());
	lead_depth_found(&p->depth, p->rows->snapshot.pending_count);
	p->queued = p->result->wait_count > 0; /* where all of it starts, there will mostly be nothing to read nodes for */
	log_debug("pass: %zu pending, %zu running, %zu starts, %zu waits", p->rows->snapshot.pending_count,
		  p->rows->snapshot.running_count, p->result->start_count, p->result->wait_count);
	if (p->result->start_count > 0)
		pass_launch(p);
	else
		pass_plan(p);
}

/* read */

static void pass_read_sets(struct lead_pass *p, int from, int to);
static void pass_ask(struct lead_pass *p);

/* All answers have come that were on their way. */
static void pass_read_on(struct lead_pass *p)
{
	if (p->outcome.good && !p->asked) {
		p->queued = p->rows->place_count > 0;
		if (p->peeks && p->queued)
			pass_read_sets(p, 0, LEAD_QUEUE);
		pass_ask(p);
		if (p->waiting > 0)
			return;
	}
	if (p->outcome.good)
		pass_decide(p);
	else
		pass_end(p);
}

static void read_came(struct db *db, PGresult *result, const struct err *e, void *arg)
{
	const struct read *read = arg;
	struct lead_pass *p = read->pass;
	struct err mine;

	(void)db;
	if (result && !lead_load(p->rows, read->set, result, &mine)) {
		result = NULL;
		e = &mine;
	}
	if (pass_stage_over(p, result, e))
		pass_read_on(p);
}

static void ask_came(struct db *db, PGresult *result, const struct err *e, void *arg)
{
	struct lead_pass *p = arg;
	struct err mine;

	(void)db;
	if (result && !lead_queue_learn(p->queue, result, &mine)) {
		result = NULL;
		e = &mine;
	}
	if (pass_stage_over(p, result, e))
		pass_read_on(p);
}

static void pass_ask(struct lead_pass *p)
{
	struct db_array *jobs = db_array_new(), *steps = db_array_new();
	size_t count = lead_queue_ask(p->queue, p->rows, jobs, steps);

	p->asked = true;
	pass_call(p, LEAD_PENDING, count, jobs, steps, ask_came, p);
}

/* The sets from `from` on, before `to`. */
static void pass_read_sets(struct lead_pass *p, int from, int to)
{
	char rows[16];

	snprintf(rows, sizeof rows, "%d", p->depth.rows);
	p->waiting += to - from;
	for (int set = from; set < to; set++) {
		p->reads[set] = (struct read){p, (enum lead_set)set};
		db_call(p->db, lead_set_function((enum lead_set)set), (struct db_param[]){{rows, -1}}, set == LEAD_QUEUE,
			read_came, &p->reads[set]);
	}
}

/* What the signer will need if arrays go on as in the last pass: behind the queue, so that it is not older. */
static void pass_expect(struct lead_pass *p)
{
	struct db_array *jobs = db_array_new(), *requests = db_array_new();
	size_t count = lead_expect_ask(&p->expect, jobs, requests);

	p->reads[LEAD_LAUNCH] = (struct read){p, LEAD_LAUNCH};
	pass_call(p, LEAD_LAUNCH, count, jobs, requests, read_came, &p->reads[LEAD_LAUNCH]);
}

static void tick_came(struct db *db, PGresult *result, const struct err *e, void *arg)
{
	struct lead_pass *p = arg;
	double next = INFINITY;
	struct err mine;

	(void)db;
	if (result && !lead_load_tick(p->rows, result, &next, &mine)) {
		result = NULL;
		e = &mine;
	}
	p->outcome.next_in = next - p->rows->snapshot.now;
	if (pass_stage_over(p, result, e))
		pass_read_on(p);
}

void lead_pass_run(struct lead_pass *p, int64_t term, bool apart, bool around)
{
	p->running = true;
	p->apart = apart;
	p->around = around;
	p->left = 0;
	p->outcome = (struct lead_outcome){.good = true, .next_in = INFINITY};
	p->rows = lead_rows_new(0);
	p->peeks = !p->queued;
	p->asked = false;
	p->waiting = 1; /* the tick */
	snprintf(p->term, sizeof p->term, "%lld", (long long)term);
	db_call(p->db, API_schedule_tick, (struct db_param[]){{p->term, -1}}, 1, tick_came, p);
	lead_depth_begin(&p->depth, p->conf->schedule_depth, p->several ? p->conf->schedule_backfill : 0, clock_seconds());
	lead_depth_enter(&p->depth, clock_seconds());
	pass_read_sets(p, p->peeks ? LEAD_QUEUE : 0, LEAD_SNAPSHOT_SETS);
	if (!p->peeks)
		pass_expect(p);
}

bool lead_pass_is_running(const struct lead_pass *p)
{
	return p->running;
}

void lead_pass_forget(struct lead_pass *p)
{
	lead_plan_forget(p->plan);
	p->depth = (struct lead_depth){0};
	p->expect.count = 0;
	if (!p->running)
		pass_forget_kept(p, clock_seconds());
}

struct lead_pass *lead_pass_new(struct db *db, const struct conf *conf, const struct seal_mac_key *mac,
				const struct seal_sign_key *sign, lead_pass_done *done, void *arg)
{
	struct lead_pass *p = xcalloc(1, sizeof *p);

	p->queue = lead_queue_new();
	p->plan = lead_plan_new();
	p->db = db;
	p->conf = conf;
	p->mac = mac;
	p->sign = sign;
	p->done = done;
	p->arg = arg;
	return p;
}

void lead_pass_free(struct lead_pass *p)
{
	if (!p)
		return;
	schedule_result_free(p->result);
	lead_rows_free(p->rows);
	lead_queue_free(p->queue);
	lead_plan_free(p->plan);
	free(p);
}
