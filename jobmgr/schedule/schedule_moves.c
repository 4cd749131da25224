/* schedule_moves.c - tries moves of running steps on changed copies of the snapshot, and keeps those that gain more than they
 * cost.
 *
 * Called by: `rota plan --moves`; lead_moves.c.
 * Invariants:
 *  - A move is proposed only if the scheduler, run on the changed copy, starts at once the waiting step, if the move is for one,
 *    and all moved steps on other nodes.
 *  - No step moves twice. A move for a waiting step does not delay the expected start of a step ahead of it in the queue.
 *  - The number of runs of the scheduler is bounded by the numbers of waits and nodes that are tried, and by the caller's
 *    time. */
#include "jobmgr/schedule/schedule_moves.h"

#include <math.h>
#include <stdlib.h>

#include "jobmgr/schedule/schedule_change.h"
#include "jobmgr/schedule/schedule_preempt.h"

enum { WAITS_MOST = SCHEDULE_MOVES_WAITS_MOST, NODES_MOST = 64, TRIES_MOST = 4, MOVERS_MOST = 256 };

static const double empty_most = 86400; /* most seconds of an empty node that count as gain: after a day it may be needed again */

struct moves {
	struct schedule_arena *arena;
	const struct schedule_policy *policy;
	const struct schedule_mover *movers;
	size_t mover_count;
	bool *is_used;		     /* by index of the mover: it is in an accepted move, or has no other place */
	struct schedule_change *now; /* the snapshot after the starts of the cycle and the accepted moves */
	struct schedule_move *list;
	size_t count;
	size_t ahead[WAITS_MOST]; /* indexes of pending steps for which no move was accepted, in queue order */
	size_t ahead_count;
	struct schedule_moves_bound bound;
};

static bool time_is_over(const struct moves *m)
{
	return m->bound.is_over && m->bound.is_over(m->bound.arg);
}

static bool row_is_of(const struct schedule_running *row, const struct schedule_mover *mover)
{
	return !row->reserved && !row->predispatched && row->job == mover->request.job && row->step == mover->request.step;
}

/* End the running rows of a mover's step in `change`. Returns the CPUs that the step had. *from_id is set to the node of its
 * first row. */
static int mover_end(struct schedule_change *change, const struct schedule_mover *mover, int *from_id, double *ends_at)
{
	int cpus = 0;
	for (size_t i = 0; i < change->snapshot.running_count; i++) {
		struct schedule_running *row = &change->running[i];
		if (!row_is_of(row, mover) || row->cpus == 0)
			continue;
		*from_id = cpus ? *from_id : row->node_id;
		*ends_at = row->ends_at;
		cpus += row->cpus;
		schedule_change_end(change, i);
	}
	return cpus;
}

/* Let the scheduler start the ended steps of `list` again; *change becomes the snapshot in which they run. Returns false if one
 * of them does not start, and sets its `is_used`. */
static bool movers_start(struct moves *m, struct schedule_change **change, struct schedule_moved *list, size_t count)
{
	struct schedule_snapshot s = (*change)->snapshot;
	struct schedule_pending *requests = schedule_arena_take(m->arena, count, sizeof *requests);
	for (size_t i = 0; i < count; i++) {
		requests[i] = list[i].mover->request;
		list[i].to_id = -1;
	}
	s.pending = requests;
	s.pending_count = count;
	struct schedule_result *result = schedule_run(&s, m->policy);
	for (size_t i = 0; i < result->start_count; i++) {
		struct schedule_moved *one = &list[result->starts[i].pending];
		one->to_id = result->starts[i].shares[0].node_id;
		one->start = result->starts[i];
		one->start.shares = schedule_change_copy_shares(m->arena, &one->start);
	}
	*change = schedule_change_after(m->arena, &s, result, 0);
	(*change)->snapshot.pending = m->now->snapshot.pending;
	(*change)->snapshot.pending_count = m->now->snapshot.pending_count;
	schedule_result_free(result);
	bool all = true;
	for (size_t i = 0; i < count; i++) {
		if (list[i].to_id >= 0)
			continue;
		all = false;
		m->is_used[list[i].mover - m->movers] = true;
	}
	return all;
}

/* Accept a move if it gains more than it costs. */
static bool move_accept(struct moves *m, struct schedule_change *change, struct schedule_move move)
{
	move.gain = move.gain_s * move.cpus;
	for (size_t i = 0; i < move.count; i++)
		move.cost += move.list[i].mover->cost_s * move.list[i].cpus;
	if (!(move.gain > move.cost))
		return false;
	for (size_t i = 0; i < move.count; i++)
		m->is_used[move.list[i].mover - m->movers] = true;
	m->list[m->count++] = move;
	m->now = change;
	return true;
}

/* Part 1: moves that make room for a waiting step. */

static const struct schedule_mover *mover_find(const struct moves *m, const struct schedule_candidate *victim)
{
	for (size_t i = 0; i < m->mover_count; i++)
		if (m->movers[i].request.job == victim->job && m->movers[i].request.step == victim->step)
			return &m->movers[i];
	return NULL;
}

/* Pick movers whose end would let the waiting step start. */
static struct schedule_picks room_pick(struct moves *m, const struct schedule_wait *wait)
{
	const struct schedule_result one = {.waits = wait, .wait_count = 1};
	struct schedule_candidate *candidates = schedule_arena_take(m->arena, m->mover_count, sizeof *candidates);
	size_t count = 0;
	for (size_t i = 0; i < m->mover_count; i++) {
		const struct schedule_mover *mover = &m->movers[i];
		if (m->is_used[i])
			continue;
		candidates[count++] = (struct schedule_candidate){.job = mover->request.job,
								  .step = mover->request.step,
								  .attempt = 1,
								  .tier = m->now->snapshot.pending[wait->pending].tier - 1,
								  .lost_s = mover->cost_s};
	}
	return schedule_preempt(m->arena, &m->now->snapshot, m->policy, &one, candidates, count, NULL, 0);
}

/* Set expected[i] to the time at which the scheduler expects step ahead[i] to start in `snapshot`; INFINITY: not known. */
static void ahead_expected(const struct moves *m, const struct schedule_snapshot *snapshot, double *expected)
{
	struct schedule_pending pending[WAITS_MOST];
	struct schedule_snapshot s = *snapshot;
	for (size_t i = 0; i < m->ahead_count; i++) {
		pending[i] = m->now->snapshot.pending[m->ahead[i]];
		expected[i] = s.now;
	}
	s.pending = pending;
	s.pending_count = m->ahead_count;
	struct schedule_result *result = schedule_run(&s, m->policy);
	for (size_t i = 0; i < result->wait_count; i++)
		expected[result->waits[i].pending] =
			isnan(result->waits[i].expected_at) ? INFINITY : result->waits[i].expected_at;
	schedule_result_free(result);
}

/* Would the change delay the expected start of a step in `ahead`? */
static bool ahead_is_delayed(const struct moves *m, const struct schedule_change *change)
{
	double before[WAITS_MOST], after[WAITS_MOST];
	bool delayed = false;
	if (m->ahead_count == 0)
		return false;
	ahead_expected(m, &m->now->snapshot, before);
	ahead_expected(m, &change->snapshot, after);
	for (size_t i = 0; i < m->ahead_count; i++)
		delayed |= after[i] > before[i];
	return delayed;
}

/* Try to move the victims of a pick elsewhere. *accepted is set if the move is accepted. Returns true if another pick is to be
 * tried for the waiting step: a victim had no other place. */
static bool room_try(struct moves *m, const struct schedule_wait *wait, const struct schedule_pick *pick, bool *accepted)
{
	struct schedule_change *change =
		schedule_change_new(m->arena, &m->now->snapshot, schedule_change_shares(pick->starts, pick->start_count));
	struct schedule_moved *list = schedule_arena_take(m->arena, pick->victim_count, sizeof *list);
	struct schedule_move move = {.kind = SCHEDULE_MOVE_ROOM,
				     .pending = wait->pending,
				     .gain_s = wait->expected_at - m->now->snapshot.now,
				     .starts = pick->starts,
				     .start_count = pick->start_count,
				     .list = list,
				     .count = pick->victim_count};
	double ends_at;
	for (size_t i = 0; i < pick->victim_count; i++) {
		list[i].mover = mover_find(m, pick->victims[i]);
		list[i].cpus = mover_end(change, list[i].mover, &list[i].from_id, &ends_at);
	}
	for (size_t i = 0; i < pick->start_count; i++) {
		schedule_change_start(change, &pick->starts[i], &m->now->snapshot.pending[pick->starts[i].pending]);
		for (size_t k = 0; k < pick->starts[i].share_count; k++)
			move.cpus += pick->starts[i].shares[k].cpus;
	}
	if (!movers_start(m, &change, list, pick->victim_count))
		return true;
	*accepted = !ahead_is_delayed(m, change) && move_accept(m, change, move);
	return false;
}

/* Restore `is_used` from `before`. The steps of move `latest` stay used; NULL: no move was accepted. */
static void used_restore(struct moves *m, const bool *before, const struct schedule_move *latest)
{
	for (size_t i = 0; i < m->mover_count; i++)
		m->is_used[i] = before[i];
	for (size_t i = 0; latest && i < latest->count; i++)
		m->is_used[latest->list[i].mover - m->movers] = true;
}

static bool *used_copy(const struct moves *m)
{
	bool *copy = schedule_arena_take(m->arena, m->mover_count, sizeof *copy);
	for (size_t i = 0; i < m->mover_count; i++)
		copy[i] = m->is_used[i];
	return copy;
}

static void room_propose(struct moves *m, const struct schedule_wait *wait)
{
	const bool *before = used_copy(m);
	bool accepted = false;
	for (int tries = 0; tries < TRIES_MOST && !time_is_over(m); tries++) {
		struct schedule_picks picks = room_pick(m, wait);
		if (picks.count == 0 || !room_try(m, wait, &picks.list[0], &accepted))
			break;
	}
	used_restore(m, before, accepted ? &m->list[m->count - 1] : NULL);
	if (!accepted)
		m->ahead[m->ahead_count++] = wait->pending;
}

/* Part 2: moves that empty nodes. */

static int compare_used(const void *a, const void *b)
{
	const struct schedule_node *x = *(const struct schedule_node *const *)a, *y = *(const struct schedule_node *const *)b;
	if (x->cpus_used != y->cpus_used)
		return x->cpus_used < y->cpus_used ? -1 : 1;
	return (x->id > y->id) - (x->id < y->id);
}

/* List the movers on a node. Returns 0 if a step that cannot be moved is on it, or if it would not be powered off. */
static size_t node_movers(const struct moves *m, int node_id, struct schedule_moved *list)
{
	const struct schedule_snapshot *s = &m->now->snapshot;
	size_t count = 0;
	for (size_t i = 0; i < s->running_count; i++) {
		const struct schedule_running *row = &s->running[i];
		size_t at = 0;
		if (row->node_id != node_id || (row->cpus == 0 && row->mem_mb == 0))
			continue;
		while (at < m->mover_count && !row_is_of(row, &m->movers[at]))
			at++;
		if (at == m->mover_count || m->is_used[at] || m->movers[at].request.nodes_min > 1 || count == MOVERS_MOST ||
		    isinf(m->movers[at].off_after_s))
			return 0;
		list[count++] = (struct schedule_moved){.mover = &m->movers[at]};
	}
	return count;
}

/* Try to empty a node. Its steps move only to nodes that are in use: to fill another empty node would gain nothing. */
static void node_propose(struct moves *m, const struct schedule_node *node)
{
	struct schedule_moved *list = schedule_arena_take(m->arena, MOVERS_MOST, sizeof *list);
	size_t count = node_movers(m, node->id, list);
	double last = m->now->snapshot.now, ends_at, off_after_s = 0;
	if (count == 0)
		return;
	struct schedule_change *change = schedule_change_new(m->arena, &m->now->snapshot, 0);
	for (size_t i = 0; i < change->snapshot.node_count; i++)
		change->nodes[i].usable =
			change->nodes[i].usable && change->nodes[i].cpus_used > 0 && change->nodes[i].id != node->id;
	for (size_t i = 0; i < count; i++) {
		list[i].cpus = mover_end(change, list[i].mover, &list[i].from_id, &ends_at);
		last = fmax(last, ends_at);
		off_after_s = fmax(off_after_s, list[i].mover->off_after_s);
	}
	const bool *before = used_copy(m);
	struct schedule_move move = {.kind = SCHEDULE_MOVE_EMPTY,
				     .node_id = node->id,
				     .cpus = node->cpus,
				     .gain_s = fmin(last - m->now->snapshot.now, empty_most) - off_after_s,
				     .list = list,
				     .count = count};
	bool accepted = movers_start(m, &change, list, count) && move_accept(m, change, move);
	used_restore(m, before, accepted ? &m->list[m->count - 1] : NULL);
}

static void nodes_propose(struct moves *m)
{
	const struct schedule_snapshot *s = &m->now->snapshot;
	const struct schedule_node **nodes = schedule_arena_take(m->arena, s->node_count, sizeof *nodes);
	size_t count = 0;
	for (size_t i = 0; i < s->node_count; i++)
		if (s->nodes[i].usable && s->nodes[i].power == SCHEDULE_POWER_ON && s->nodes[i].cpus_used > 0)
			nodes[count++] = &s->nodes[i];
	if (count)
		qsort(nodes, count, sizeof *nodes, compare_used);
	for (size_t i = 0; i < count && i < NODES_MOST && !time_is_over(m); i++)
		node_propose(m, nodes[i]);
}

struct schedule_moves schedule_moves(struct schedule_arena *arena, const struct schedule_snapshot *snapshot,
				     const struct schedule_policy *policy, const struct schedule_result *result,
				     const struct schedule_mover *movers, size_t mover_count, struct schedule_moves_bound bound)
{
	struct moves m = {.arena = arena, .policy = policy, .movers = movers, .mover_count = mover_count, .bound = bound};
	size_t tried = 0;
	size_t most = bound.waits < WAITS_MOST ? bound.waits : WAITS_MOST;
	m.is_used = schedule_arena_take(arena, mover_count, sizeof *m.is_used);
	m.list = schedule_arena_take(arena, WAITS_MOST + NODES_MOST, sizeof *m.list);
	m.now = schedule_change_after(arena, snapshot, result, 0);
	for (size_t i = 0; mover_count && i < result->wait_count && tried < most && !time_is_over(&m); i++) {
		const struct schedule_wait *wait = &result->waits[i];
		if (!schedule_preempt_may(wait) || isnan(wait->expected_at) || wait->expected_at <= snapshot->now)
			continue;
		room_propose(&m, wait);
		tried++;
	}
	if (mover_count && result->wait_count == 0)
		nodes_propose(&m);
	return (struct schedule_moves){m.list, m.count};
}
