/* lead_cycle_read.c - the stages of a scheduling cycle that read: queue, snapshot, requests of steps, launch rows, candidates
 * for preemption, steps that can be moved.
 *
 * Called by: lead_cycle.c, a stage at a time.
 * Invariants:
 *  - The rows of each answer are loaded when it arrives. An answer that cannot be loaded fails the cycle.
 *  - Launch rows are read after the queue, so they are not older than the queue. */
#include <math.h>
#include <stdio.h>

#include "jobmgr/lead/lead_cycle_parts.h"
#include "jobmgr/lead/lead_moves.h"
#include "jobmgr/lead/lead_preempt.h"
#include "lib/clock.h"

/* Count an SQL call of the stage as answered. `loaded` false: the call failed, or its rows could not be loaded, with error
 * `e`. */
static void cycle_loaded(struct lead_cycle *c, bool loaded, const struct err *e)
{
	if (!loaded)
		lead_cycle_fail(c, e);
	lead_cycle_answered(c);
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
	const struct lead_read *read = arg;
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

static void moving_answered(struct db *db, PGresult *result, const struct err *e, void *arg)
{
	struct lead_cycle *c = arg;
	struct err malformed;
	bool loaded = result && lead_load(c->moving, LEAD_PENDING, result, &malformed);

	(void)db;
	cycle_loaded(c, loaded, result ? &malformed : e);
}

static void cycle_call_tick(struct lead_cycle *c)
{
	c->waiting++;
	db_call(c->db, API_schedule_tick, (struct db_param[]){{c->term, -1}}, 1, tick_answered, c);
}

/* Send the SQL call that reads a result set of the snapshot. */
static void cycle_call_set(struct lead_cycle *c, enum lead_set set)
{
	char rows[16];

	snprintf(rows, sizeof rows, "%d", c->scan_limit.rows);
	c->waiting++;
	c->reads[set] = (struct lead_read){c, set};
	db_call(c->db, lead_set_function(set), (struct db_param[]){{rows, -1}}, set == LEAD_QUEUE, set_answered, &c->reads[set]);
}

/* Send the SQL calls that read the result sets of the snapshot before `end`, all as of one moment. If a step ended between the reads
 * of nodes and of running steps, a part of its node would be neither free nor become free, so no time would be found at which a step
 * that needs this part can start. Such a step would have no reservation, and later ones of the queue would pass it. */
static void cycle_call_sets(struct lead_cycle *c, int end)
{
	db_read_begin(c->db);
	for (int set = 0; set < end; set++)
		cycle_call_set(c, (enum lead_set)set);
	db_read_end(c->db);
}

/* Send the SQL call that reads a result set for `count` steps, unless `count` is 0. Frees the arrays `jobs` and `steps`. */
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
	c->reads[LEAD_LAUNCH] = (struct lead_read){c, LEAD_LAUNCH};
	cycle_call_for(c, LEAD_LAUNCH, count, jobs, requests, set_answered, &c->reads[LEAD_LAUNCH]);
}

void lead_cycle_read_queue(struct lead_cycle *c)
{
	cycle_call_tick(c);
	cycle_call_set(c, LEAD_QUEUE);
}

/* Read the snapshot. Launch rows are read after the queue, so that they are not older than the queue. */
void lead_cycle_read_snapshot(struct lead_cycle *c)
{
	struct db_array *jobs = db_array_new(), *requests = db_array_new();
	size_t count = lead_prefetch_list(&c->prefetch, jobs, requests);

	cycle_call_tick(c);
	cycle_call_sets(c, LEAD_SNAPSHOT_SETS);
	cycle_call_launch(c, count, jobs, requests);
}

/* May this cycle propose moves? A proposal runs the scheduler many times, so there is at most one in `schedule.moves` seconds. */
static bool cycle_may_move(const struct lead_cycle *c)
{
	return c->conf->schedule_moves > 0 && clock_seconds() >= c->moves_from;
}

void lead_cycle_read_requests(struct lead_cycle *c)
{
	struct db_array *jobs = db_array_new(), *steps = db_array_new();
	bool pending = c->rows->queue_count > 0 || c->rows->resume_count > 0;

	/* Moves may empty a node although no step is pending, so the search for moves needs the snapshot. */
	if (c->first_stage == LEAD_STAGE_QUEUE && (pending || cycle_may_move(c)))
		cycle_call_sets(c, LEAD_QUEUE);
	c->first_stage = pending ? LEAD_STAGE_SNAPSHOT : LEAD_STAGE_QUEUE;
	cycle_call_for(c, LEAD_PENDING, lead_queue_list_missing(c->queue, c->rows, jobs, steps), jobs, steps, requests_answered,
		       c);
}

void lead_cycle_read_launch(struct lead_cycle *c)
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

void lead_cycle_read_candidates(struct lead_cycle *c)
{
	char below[16];
	int tier;

	if (!lead_preempt_is_wanted(c->rows, c->result, &tier))
		return;
	snprintf(below, sizeof below, "%d", tier);
	c->reads[LEAD_CANDIDATES] = (struct lead_read){c, LEAD_CANDIDATES};
	c->waiting++;
	db_call(c->db, API_schedule_candidates, (struct db_param[]){{below, -1}}, 1, set_answered, &c->reads[LEAD_CANDIDATES]);
}

/* Read the running steps that may be moved. A cycle that has preempted steps reads none, because their nodes are not free yet. If
 * it is too early for a proposal, the next cycle begins at the time of the proposal, since nothing else may wake the leader
 * before. */
void lead_cycle_read_movers(struct lead_cycle *c)
{
	double wait_s = c->moves_from - clock_seconds();
	bool wanted;

	if (c->preempted || c->conf->schedule_moves == 0)
		return;
	wanted = lead_moves_are_wanted(c->rows, c->result);
	if (wait_s > 0) {
		if (wanted)
			c->outcome.transition_in = fmin(c->outcome.transition_in, wait_s);
		return;
	}
	/* With an empty queue, the snapshot was read for the moves alone. */
	if (wanted || c->result->wait_count == 0)
		c->moves_from = clock_seconds() + c->conf->schedule_moves;
	if (!wanted)
		return;
	c->reads[LEAD_MOVERS] = (struct lead_read){c, LEAD_MOVERS};
	c->waiting++;
	db_call(c->db, API_schedule_movers, NULL, 0, set_answered, &c->reads[LEAD_MOVERS]);
}

void lead_cycle_read_moving(struct lead_cycle *c)
{
	struct db_array *jobs, *steps;

	if (c->rows->mover_count == 0)
		return;
	c->moving = lead_rows_new(0);
	jobs = db_array_new();
	steps = db_array_new();
	for (size_t i = 0; i < c->rows->mover_count; i++) {
		db_array_int(jobs, c->rows->movers[i].job);
		db_array_int(steps, c->rows->movers[i].step);
	}
	cycle_call_for(c, LEAD_PENDING, c->rows->mover_count, jobs, steps, moving_answered, c);
}
