/* lead_cycle_write.c - the stages of a scheduling cycle that write: withdrawals, resumptions, power and setups of nodes, starts
 * and refusals, preemptions, moves, the plan.
 *
 * Called by: lead_cycle.c, a stage at a time.
 * Invariants:
 *  - Every SQL call has the leader's term, so the database rejects the calls of a deposed leader.
 *  - Only steps whose start or refusal the database has confirmed count as moved (struct lead_outcome). */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "jobmgr/lead/lead_cycle_parts.h"
#include "jobmgr/lead/lead_moves.h"
#include "jobmgr/lead/lead_order.h"
#include "jobmgr/lead/lead_preempt.h"
#include "jobmgr/lead/lead_resume.h"
#include "jobmgr/schedule/schedule_withdraw.h"
#include "lib/clock.h"
#include "lib/log.h"

static const double plan_gap = 0.3;   /* seconds between two writes of the plan */
static const double withdraw_gap = 1; /* seconds between two withdrawals: by then, nodes have refused the elements of the first */

/* Handles the answer of an SQL call of which only success or failure matters. */
static void write_answered(struct db *db, PGresult *result, const struct err *e, void *arg)
{
	struct lead_cycle *c = arg;

	(void)db;
	if (!result)
		lead_cycle_fail(c, e);
	lead_cycle_answered(c);
}

static void withdraw_answered(struct db *db, PGresult *result, const struct err *e, void *arg)
{
	struct lead_cycle *c = arg;

	if (result)
		c->withdraw_from = clock_seconds() + withdraw_gap;
	if (result && strcmp(PQgetvalue(result, 0, 0), "0") != 0)
		c->ahead_from = clock_seconds() + c->conf->node_ahead;
	write_answered(db, result, e, arg);
}

static void cycle_withdraw(struct lead_cycle *c, const struct schedule_withdrawal *list, size_t count)
{
	struct db_array *jobs = db_array_new(), *requests = db_array_new(), *nodes = db_array_new();

	for (size_t i = 0; i < count; i++) {
		db_array_int(jobs, list[i].job);
		db_array_int(requests, list[i].request);
		db_array_int(nodes, list[i].node_id);
	}
	c->waiting++;
	db_call(c->db, API_schedule_withdraw,
		(struct db_param[]){{c->term, -1},
				    {db_array_literal(jobs), -1},
				    {db_array_literal(requests), -1},
				    {db_array_literal(nodes), -1}},
		4, withdraw_answered, c);
	db_array_free(jobs);
	db_array_free(requests);
	db_array_free(nodes);
}

/* Does nothing without node.ahead: then so few elements are pre-dispatched that none need be withdrawn. */
void lead_cycle_write_withdrawals(struct lead_cycle *c)
{
	const struct schedule_withdrawal *list;
	size_t count;

	if (c->conf->node_ahead == 0 || clock_seconds() < c->withdraw_from)
		return;
	count = schedule_withdraw(c->rows->arena, &c->rows->snapshot, c->result, &list);
	if (count > 0)
		cycle_withdraw(c, list, count);
}

void lead_cycle_write_resume(struct lead_cycle *c)
{
	struct db_array *jobs, *steps;

	if (c->rows->resume_count == 0)
		return;
	jobs = db_array_new();
	steps = db_array_new();
	if (lead_resume_list(c->rows, jobs, steps) > 0) {
		c->waiting++;
		db_call(c->db, API_schedule_resume,
			(struct db_param[]){{c->term, -1}, {db_array_literal(jobs), -1}, {db_array_literal(steps), -1}}, 3,
			write_answered, c);
	}
	db_array_free(jobs);
	db_array_free(steps);
}

static void cycle_ask_setups(struct lead_cycle *c)
{
	struct db_array *nodes = db_array_new(), *images = db_array_new(), *preps = db_array_new();

	for (size_t i = 0; i < c->result->setup_count; i++) {
		db_array_int(nodes, c->result->setups[i].node_id);
		db_array_text(images, c->result->setups[i].image);
		db_array_text(preps, c->result->setups[i].prep);
	}
	c->waiting++;
	db_call(c->db, API_schedule_setup,
		(struct db_param[]){{c->term, -1},
				    {db_array_literal(nodes), -1},
				    {db_array_literal(images), -1},
				    {db_array_literal(preps), -1}},
		4, write_answered, c);
	db_array_free(nodes);
	db_array_free(images);
	db_array_free(preps);
}

void lead_cycle_write_power(struct lead_cycle *c)
{
	struct db_array *nodes;

	if (c->result->setup_count)
		cycle_ask_setups(c);
	if (!c->result->wake_count)
		return;
	nodes = db_array_new();
	for (size_t i = 0; i < c->result->wake_count; i++)
		db_array_int(nodes, c->result->wake_ids[i]);
	c->waiting++;
	db_call(c->db, API_schedule_power, (struct db_param[]){{c->term, -1}, {db_array_literal(nodes), -1}}, 2, write_answered,
		c);
	db_array_free(nodes);
}

/* Count the started steps as moved, and note in the plan that they have started. `result`: a row for each started step. */
static void cycle_note_started(struct lead_cycle *c, const PGresult *result)
{
	int count = PQntuples(result);

	for (int i = 0; i < count; i++)
		lead_plan_note_start(c->plan, strtoll(PQgetvalue(result, i, 0), NULL, 10), atoi(PQgetvalue(result, i, 1)));
	c->outcome.moved += (size_t)count;
	if (c->mode != LEAD_TOGETHER)
		c->left -= (size_t)count;
}

/* A call of api.schedule_commit under way, with its first start for the log. In mode LEAD_ONE_BY_ONE, this names the step or
 * gang. */
struct commit_call {
	struct lead_cycle *cycle;
	int64_t job;
	int step;
};

static void commit_answered(struct db *db, PGresult *result, const struct err *e, void *arg)
{
	struct commit_call *call = arg;
	struct lead_cycle *c = call->cycle;

	(void)db;
	if (result) {
		cycle_note_started(c, result);
	} else if (c->mode != LEAD_ONE_BY_ONE || strcmp(e->code, "RT412") == 0 || strncmp(e->code, "08", 2) == 0) {
		lead_cycle_fail(c, e);
	} else {
		c->outcome.partial_failure = true;
		log_warning("job %lld: the start of step number %d was not committed, the next scheduling cycle decides again: "
			    "%s %s",
			    (long long)call->job, call->step, e->code, e->message);
	}
	free(call);
	lead_cycle_answered(c);
}

static void refuse_answered(struct db *db, PGresult *result, const struct err *e, void *arg)
{
	struct lead_cycle *c = arg;
	size_t refused = result ? strtoull(PQgetvalue(result, 0, 0), NULL, 10) : 0;

	(void)db;
	c->outcome.moved += refused;
	c->left -= refused;
	if (!result)
		lead_cycle_fail(c, e);
	lead_cycle_answered(c);
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
	const json_t *first = json_array_get(commit->starts, 0);
	bool waits = c->mode == LEAD_TOGETHER; /* the commit waits for locks of jobs, up to the database's lock timeout */
	struct commit_call *call = xcalloc(1, sizeof *call);

	if (!starts || !signed_orders)
		die("could not write starts and launch requests as JSON");
	call->cycle = c;
	call->job = json_integer_value(json_object_get(first, "job"));
	call->step = (int)json_integer_value(json_object_get(first, "step"));
	c->waiting++;
	if (!waits)
		c->left += json_array_size(commit->starts);
	db_call(c->db, API_schedule_commit,
		(struct db_param[]){{c->term, -1}, {starts, -1}, {signed_orders, -1}, {waits ? "true" : "false", -1}}, 4,
		commit_answered, call);
	free(starts);
	free(signed_orders);
}

struct lead_signer lead_cycle_signer(const struct lead_cycle *c)
{
	return (struct lead_signer){
		.mac = c->mac,
		.sign = c->sign,
		.grace_s = c->conf->node_grace,
		.expires_at = (int64_t)time(NULL) + c->conf->schedule_order_lifetime +
			      /* a launch request may wait for the controller's prolog, and for pre_run of burst_buffer.lua */
			      (*c->conf->controller_prolog ? c->conf->controller_hook_timeout : 0) +
			      (*c->conf->hooks_burst_buffer ? c->conf->hooks_other_timeout : 0),
		.hold_s = 2 * c->conf->node_ahead, /* running elements may take longer than expected */
		.separate = *c->conf->controller_prolog != '\0',
	};
}

void lead_cycle_write_starts(struct lead_cycle *c)
{
	struct lead_signer signer = lead_cycle_signer(c);
	struct lead_orders *orders = lead_orders_make(c->rows, c->result, &signer, c->mode == LEAD_ONE_BY_ONE);

	lead_prefetch_note(&c->prefetch, c->rows, c->result, c->conf->node_ahead > 0);
	c->outcome.postponed = orders->postponed;
	if (orders->refused_count > 0)
		cycle_call_refuse(c, orders);
	for (size_t i = 0; i < orders->commit_count; i++)
		cycle_call_commit(c, &orders->commits[i]);
	lead_orders_free(orders);
}

void lead_cycle_write_preempt(struct lead_cycle *c)
{
	char *picks;
	bool has_more;

	if (c->rows->candidate_count == 0)
		return;
	c->outcome.transition_in = fmin(c->outcome.transition_in, lead_preempt_next_in(c->rows));
	lead_scan_limit_resume(&c->scan_limit, clock_seconds());
	picks = lead_preempt_picks_json(c->rows, &c->policy, c->result, &has_more);
	lead_scan_limit_pause(&c->scan_limit, clock_seconds());
	if (!picks)
		return;
	c->outcome.postponed |= has_more;
	c->preempted = true;
	c->waiting++;
	db_call(c->db, API_schedule_preempt, (struct db_param[]){{c->term, -1}, {picks, -1}}, 2, write_answered, c);
	free(picks);
}

void lead_cycle_write_moves(struct lead_cycle *c)
{
	char *moves;

	if (!c->moving)
		return;
	lead_scan_limit_resume(&c->scan_limit, clock_seconds());
	moves = lead_moves_json(c->rows, c->moving, &c->policy, c->result, c->conf->schedule_lease);
	lead_scan_limit_pause(&c->scan_limit, clock_seconds());
	if (!moves)
		return;
	c->waiting++;
	db_call(c->db, API_schedule_move, (struct db_param[]){{c->term, -1}, {moves, -1}}, 2, write_answered, c);
	free(moves);
}

static void plan_answered(struct db *db, PGresult *result, const struct err *e, void *arg)
{
	struct lead_cycle *c = arg;

	(void)db;
	if (result) {
		c->plan_at = clock_seconds();
		lead_scan_limit_pause(&c->scan_limit, c->plan_at);
	} else {
		lead_plan_drop(c->plan);
		lead_cycle_fail(c, e);
	}
	lead_cycle_answered(c);
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

/* Write the changes of the plan to the database. A short scan does not see every waiting step, so it writes no plan. */
void lead_cycle_write_plan(struct lead_cycle *c)
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
