/* lead_moves.c - turns moves that the scheduler proposes into the argument of api.schedule_move.
 *
 * Called by: lead_cycle_read.c, lead_cycle_write.c, if the site has set schedule.moves.
 * Invariants:
 *  - The arithmetic is that of `rota plan --moves` (schedule_moves.c): a move is made only if it gains more than it costs.
 *  - A claim, as preemption writes them, keeps what a move frees for the step that it makes room for. If a move empties a node,
 *    claims keep the places to which its steps move. */
#include "jobmgr/lead/lead_moves.h"

#include <jansson.h>
#include <math.h>

#include "jobmgr/lead/lead_preempt.h"
#include "jobmgr/schedule/schedule_arena.h"
#include "jobmgr/schedule/schedule_change.h"
#include "jobmgr/schedule/schedule_moves.h"
#include "lib/clock.h"
#include "lib/err.h"
#include "lib/log.h"

enum { WAITS_MOST = 4, LEASE_PARTS = 4 };

bool lead_moves_are_wanted(const struct lead_rows *rows, const struct schedule_result *result)
{
	if (rows->claim_count > 0)
		return false;
	if (result->wait_count == 0)
		return rows->snapshot.running_count > 0;
	for (size_t i = 0; i < result->wait_count; i++) {
		const struct schedule_wait *wait = &result->waits[i];

		if (schedule_preempt_may(wait) && !isnan(wait->expected_at) && wait->expected_at > rows->snapshot.now)
			return true;
	}
	return false;
}

/* Returns those steps of rows->movers that have a request in `requests`, with this request. Both lists are in the same order; a
 * step that has ended has no request. */
static struct schedule_mover *movers_make(const struct lead_rows *rows, const struct lead_rows *requests, size_t *count)
{
	const struct schedule_snapshot *asked = &requests->snapshot;
	struct schedule_mover *movers = schedule_arena_take(rows->arena, asked->pending_count, sizeof *movers);
	size_t at = 0;

	*count = 0;
	for (size_t i = 0; i < rows->mover_count && at < asked->pending_count; i++) {
		const struct schedule_pending *request = &asked->pending[at];

		if (request->job != rows->movers[i].job || request->step != rows->movers[i].step)
			continue;
		movers[*count] = (struct schedule_mover){*request, rows->movers[i].cost_s, rows->movers[i].off_after_s};
		movers[(*count)++].request.array_free_slots = -1;
		at++;
	}
	return movers;
}

/* Returns the number of the latest attempt of a step in `requests`, or 0 if it is not there. */
static int attempt_of(const struct lead_rows *requests, const struct schedule_pending *step)
{
	for (size_t i = 0; i < requests->snapshot.pending_count; i++)
		if (requests->snapshot.pending[i].job == step->job && requests->snapshot.pending[i].step == step->step)
			return requests->keys[i].attempt;
	return 0;
}

static const char *node_name(const struct lead_rows *rows, int id)
{
	const struct schedule_node *node = schedule_snapshot_node(&rows->snapshot, id);

	return node ? node->name : "?";
}

static json_t *move_json(const struct lead_rows *rows, const struct lead_rows *requests, const struct schedule_move *move)
{
	json_t *steps = json_array(), *moving = json_array();

	for (size_t i = 0; i < move->start_count; i++)
		json_array_append_new(
			steps, lead_preempt_claim_json(&rows->snapshot.pending[move->starts[i].pending], &move->starts[i]));
	for (size_t i = 0; i < move->count; i++) {
		const struct schedule_pending *step = &move->list[i].mover->request;

		json_array_append_new(moving, json_pack("{s:I, s:i, s:i}", "job", (json_int_t)step->job, "step", step->step,
							"attempt", attempt_of(requests, step)));
		/* Claims keep the new places. Without them, the scheduler would put the steps onto the node that is to be
		 * empty. */
		if (move->kind == SCHEDULE_MOVE_EMPTY)
			json_array_append_new(steps, lead_preempt_claim_json(step, &move->list[i].start));
	}
	if (move->kind == SCHEDULE_MOVE_EMPTY) {
		log_info("moving %zu steps so that node %s is off for %.0f s: %.0f CPU s gained, %.1f CPU s lost", move->count,
			 node_name(rows, move->node_id), move->gain_s, move->gain, move->cost);
		return json_pack("{s:o, s:o, s:i}", "steps", steps, "moving", moving, "empties", move->node_id);
	}
	log_info("moving %zu steps so that a step of job %lld starts %.0f s earlier: %.0f CPU s gained, %.1f CPU s lost",
		 move->count, (long long)rows->snapshot.pending[move->pending].job, move->gain_s, move->gain, move->cost);
	return json_pack("{s:o, s:o}", "steps", steps, "moving", moving);
}

static bool time_is_over(void *arg)
{
	const double *until = arg;

	return clock_seconds() >= *until;
}

char *lead_moves_json(const struct lead_rows *rows, const struct lead_rows *requests, const struct schedule_policy *policy,
		      const struct schedule_result *result, double lease_s)
{
	double until = clock_seconds() + lease_s / LEASE_PARTS;
	struct schedule_moves_bound bound = {.waits = WAITS_MOST, .is_over = time_is_over, .arg = &until};
	size_t count;
	struct schedule_mover *movers = movers_make(rows, requests, &count);
	struct schedule_moves moves = schedule_moves(rows->arena, &rows->snapshot, policy, result, movers, count, bound);
	json_t *list;
	char *text;

	log_debug("moves: %zu steps can be moved, %zu moves", count, moves.count);
	if (moves.count == 0)
		return NULL;
	list = json_array();
	for (size_t i = 0; i < moves.count; i++)
		json_array_append_new(list, move_json(rows, requests, &moves.list[i]));
	text = json_dumps(list, JSON_COMPACT);
	json_decref(list);
	if (!text)
		die("could not write moves as JSON");
	return text;
}
