/* lead_cycle_ahead.c - the stages of a scheduling cycle that send steps ahead, to the node of the step that they wait for.
 *
 * Called by: lead_cycle.c.
 * Invariants:
 *  - api.schedule_ahead decides which steps are sent ahead and what they hold. api.schedule_ahead_commit decides it again under
 *    the locks of job and node. A step that is not sent ahead starts in the ordinary way.
 *  - Where node.ahead is 0, or the controller has a prolog, all that an earlier leader has sent ahead is given back.
 *  - A step that the queue has after a step that waits for resources is not sent ahead. None is sent during an outage. Nodes give
 *    such steps back. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "jobmgr/lead/lead_cycle_parts.h"
#include "jobmgr/lead/lead_order.h"
#include "jobmgr/schedule/schedule_arena.h"
#include "jobmgr/schedule/schedule_withdraw.h"
#include "lib/clock.h"
#include "lib/log.h"

static const double ahead_gap = 0.3; /* seconds between two calls of api.schedule_ahead, each of which reads all running steps */
static const double close_gap = 60;  /* the same where no step may be sent ahead, for those that an earlier leader has sent */

struct ahead_read {
	struct lead_cycle *cycle;
	enum lead_set set;
};

static void ahead_answered(struct db *db, PGresult *result, const struct err *e, void *arg)
{
	struct ahead_read *read = arg;
	struct lead_cycle *c = read->cycle;
	struct err malformed;

	(void)db;
	if (!result || !lead_load(c->ahead, read->set, result, &malformed))
		lead_cycle_fail(c, result ? &malformed : e);
	free(read);
	lead_cycle_answered(c);
}

static void ahead_call(struct lead_cycle *c, enum lead_set set, const struct db_param *params, int count)
{
	struct ahead_read *read = xcalloc(1, sizeof *read);

	*read = (struct ahead_read){c, set};
	c->waiting++;
	db_call(c->db, lead_set_function(set), params, count, ahead_answered, read);
}

void lead_cycle_read_ahead(struct lead_cycle *c)
{
	const struct schedule_snapshot *s = &c->rows->snapshot;
	/* A launch request that was sent ahead would not wait for the controller's prolog. */
	bool closed = c->conf->node_ahead == 0 || *c->conf->controller_prolog;
	double wait_s = c->ahead_at + (closed ? close_gap : ahead_gap) - clock_seconds();
	char job[24], step[12];
	size_t waiting;

	if (wait_s > 0) {
		if (!closed)
			c->outcome.transition_in = fmin(c->outcome.transition_in, wait_s);
		return;
	}
	c->ahead_at = clock_seconds();
	c->ahead = lead_rows_new(s->now);
	if (closed) {
		ahead_call(c, LEAD_AHEAD, (struct db_param[]){{c->term, -1}, {NULL, -1}, {"-1", -1}}, 3);
		return;
	}
	waiting = schedule_withdraw_first(s, c->result);
	if (waiting < s->pending_count) {
		snprintf(job, sizeof job, "%lld", (long long)s->pending[waiting].job);
		snprintf(step, sizeof step, "%d", s->pending[waiting].step);
	}
	ahead_call(c, LEAD_AHEAD,
		   (struct db_param[]){{c->term, -1},
				       {waiting < s->pending_count ? job : NULL, -1},
				       {waiting < s->pending_count ? step : NULL, -1}},
		   3);
}

void lead_cycle_read_ahead_requests(struct lead_cycle *c)
{
	struct db_array *jobs, *steps;

	if (!c->ahead || c->ahead->ahead_count == 0)
		return;
	jobs = db_array_new();
	steps = db_array_new();
	for (size_t i = 0; i < c->ahead->ahead_count; i++) {
		db_array_int(jobs, c->ahead->ahead[i].job);
		db_array_int(steps, c->ahead->ahead[i].step);
	}
	for (int set = LEAD_PENDING; set <= LEAD_LAUNCH; set++)
		ahead_call(c, (enum lead_set)set,
			   (struct db_param[]){{db_array_literal(jobs), -1}, {db_array_literal(steps), -1}}, 2);
	db_array_free(jobs);
	db_array_free(steps);
}

static const struct lead_ahead *ahead_find(const struct lead_rows *rows, const struct schedule_pending *step)
{
	for (size_t i = 0; i < rows->ahead_count; i++)
		if (rows->ahead[i].job == step->job && rows->ahead[i].step == step->step)
			return &rows->ahead[i];
	return NULL;
}

/* Returns a start for each step of `rows` that is to be sent ahead, and sets rows->keys and the nodes of the snapshot, which
 * the signer reads. */
static struct schedule_result ahead_starts(struct lead_rows *rows)
{
	size_t count = rows->snapshot.pending_count;
	struct schedule_node *nodes = schedule_arena_take(rows->arena, count, sizeof *nodes);
	struct schedule_share *shares = schedule_arena_take(rows->arena, count, sizeof *shares);
	struct schedule_start *starts = schedule_arena_take(rows->arena, count, sizeof *starts);
	struct lead_key *keys = schedule_arena_take(rows->arena, count, sizeof *keys);
	size_t made = 0;

	for (size_t i = 0; i < count; i++) {
		const struct schedule_pending *step = &rows->snapshot.pending[i];

		keys[i] = rows->keys[i];
		keys[i].ahead = ahead_find(rows, step);
		if (!keys[i].ahead)
			continue;
		nodes[made] = (struct schedule_node){.id = keys[i].ahead->node_id, .name = keys[i].ahead->node};
		shares[made] = (struct schedule_share){.node_id = keys[i].ahead->node_id,
						       .cpus = keys[i].ahead->cpus,
						       .mem_mb = keys[i].ahead->mem_mb,
						       .tasks = 1};
		starts[made] = (struct schedule_start){.pending = i,
						       .job = step->job,
						       .step = step->step,
						       .position = -1,
						       .time_limit_s = step->time_limit_s,
						       .predispatched = true,
						       .shares = &shares[made],
						       .share_count = 1};
		made++;
	}
	rows->keys = keys;
	rows->snapshot.nodes = nodes;
	rows->snapshot.node_count = made;
	return (struct schedule_result){.starts = starts, .start_count = made};
}

static void commit_answered(struct db *db, PGresult *result, const struct err *e, void *arg)
{
	struct lead_cycle *c = arg;

	(void)db;
	if (result)
		c->outcome.moved += (size_t)PQntuples(result);
	else if (strcmp(e->code, "RT412") == 0 || strncmp(e->code, "08", 2) == 0)
		lead_cycle_fail(c, e);
	else
		log_warning("a step was not sent ahead: %s %s", e->code, e->message);
	lead_cycle_answered(c);
}

static void commit_send(struct lead_cycle *c, const struct lead_commit *commit)
{
	char *starts = json_dumps(commit->starts, JSON_COMPACT), *requests = json_dumps(commit->orders, JSON_COMPACT);

	if (!starts || !requests)
		die("could not write a start and its launch request as JSON");
	c->waiting++;
	db_call(c->db, API_schedule_ahead_commit, (struct db_param[]){{c->term, -1}, {starts, -1}, {requests, -1}}, 3,
		commit_answered, c);
	free(starts);
	free(requests);
}

void lead_cycle_write_ahead(struct lead_cycle *c)
{
	if (!c->ahead || c->ahead->ahead_count == 0)
		return;
	struct lead_signer signer = lead_cycle_signer(c);
	struct schedule_result result = ahead_starts(c->ahead);
	struct lead_orders *orders = lead_orders_make(c->ahead, &result, &signer, true);

	for (size_t i = 0; i < orders->commit_count; i++)
		commit_send(c, &orders->commits[i]);
	lead_orders_free(orders);
}
