/* plan_preempt.c - lets the scheduler pick victims in a snapshot, and corrects the expected starts of all waiting steps accordingly.
 *
 * Called by: `rota plan`.
 * Invariants:
 * - Victims are picked by the code of the leader: first steps that may be preempted now, then steps whose minimal run time is
 *   not over.
 * - Victims give up their resources at once. They are not queued again. */
#include "bin/rota/plan/plan_preempt.h"

#include <math.h>
#include <string.h>

#include "jobmgr/schedule/schedule_arena.h"
#include "jobmgr/schedule/schedule_change.h"
#include "jobmgr/schedule/schedule_preempt.h"

/* A plan that is being corrected. */
struct preempted {
	struct schedule_arena *arena;
	const struct schedule_policy *policy;
	struct schedule_snapshot now;
	const size_t *index; /* positions of the pending steps of `now` in `times` and `messages` */
	const struct schedule_candidate *candidates;
	struct schedule_candidate *offered; /* a copy of the candidates, changed for this round */
	size_t count;
	double *times;
	const char **messages;
};

/* End or suspend a victim. Returns its name. */
static const char *victim_end(struct schedule_change *change, const struct schedule_candidate *victim)
{
	const char *label = "?";

	for (size_t i = 0; i < change->snapshot.running_count; i++) {
		const struct schedule_running *row = &change->snapshot.running[i];

		if (row->reserved || row->predispatched || row->job != victim->job || row->step != victim->step)
			continue;
		label = row->label ? row->label : label;
		if (victim->suspends)
			schedule_change_suspend(change, i, victim->gives);
		else
			schedule_change_end(change, i);
	}
	return label;
}

/* Apply a pick to the changed snapshot, and store the times at which its steps start. */
static void pick_note(struct preempted *p, struct schedule_change *change, const struct schedule_pick *pick, bool *started)
{
	const char *names = "preempts";
	double at = p->now.now;

	for (size_t i = 0; i < pick->victim_count; i++) {
		at = fmax(at, p->candidates[pick->victims[i] - p->offered].from_at);
		names = schedule_arena_print(p->arena, "%s%s %s", names, i ? "," : "", victim_end(change, pick->victims[i]));
	}
	for (size_t i = 0; i < pick->start_count; i++) {
		const struct schedule_start *start = &pick->starts[i];
		size_t index = p->index[start->pending];

		schedule_change_start(change, start, &p->now.pending[start->pending]);
		if (!started[start->pending] && !(p->times[index] <= at)) {
			p->times[index] = at;
			p->messages[index] = names;
		}
		started[start->pending] = true;
	}
}

/* Take the changed snapshot for the next round, with the steps that have not started. */
static void preempted_go_on(struct preempted *p, const struct schedule_change *change, const bool *started)
{
	struct schedule_pending *left = schedule_arena_take(p->arena, p->now.pending_count, sizeof *left);
	size_t *index = schedule_arena_take(p->arena, p->now.pending_count, sizeof *index), count = 0;

	for (size_t i = 0; i < p->now.pending_count; i++)
		if (!started[i]) {
			left[count] = p->now.pending[i];
			index[count++] = p->index[i];
		}
	p->now = change->snapshot;
	p->now.pending = left;
	p->now.pending_count = count;
	p->index = index;
}

/* Apply the picks of one round. Returns false if there are none. */
static bool preempted_round(struct preempted *p, const struct schedule_result *result, const struct lead_rows *rows)
{
	struct schedule_picks picks =
		schedule_preempt(p->arena, &p->now, p->policy, result, p->offered, p->count, rows->claims, rows->claim_count);
	bool *started = schedule_arena_take(p->arena, p->now.pending_count, sizeof *started);
	size_t shares = 0;

	if (picks.count == 0)
		return false;
	memset(started, 0, p->now.pending_count * sizeof *started);
	for (size_t i = 0; i < picks.count; i++)
		shares += schedule_change_shares(picks.list[i].starts, picks.list[i].start_count);
	struct schedule_change *change = schedule_change_after(p->arena, &p->now, result, shares);

	for (size_t i = 0; i < result->start_count; i++)
		started[result->starts[i].pending] = true;
	for (size_t i = 0; i < picks.count; i++)
		pick_note(p, change, &picks.list[i], started);
	preempted_go_on(p, change, started);
	return true;
}

/* Store the expected starts of the steps that still wait. */
static void waits_note(struct preempted *p, const struct schedule_result *result)
{
	for (size_t i = 0; i < result->wait_count; i++) {
		size_t index = p->index[result->waits[i].pending];

		p->times[index] = result->waits[i].expected_at;
		p->messages[index] = schedule_arena_print(p->arena, "%s", result->waits[i].message);
	}
	for (size_t i = 0; i < result->start_count; i++) {
		p->times[p->index[result->starts[i].pending]] = p->now.now;
		p->messages[p->index[result->starts[i].pending]] = "";
	}
}

void plan_preempt_note(struct plan_snapshot *snapshot, const struct schedule_policy *policy, const struct schedule_result *result,
		       double *times, const char **messages)
{
	const struct lead_rows *rows = snapshot->rows;
	struct schedule_arena *arena = rows->arena;
	size_t count = rows->candidate_count, *index = schedule_arena_take(arena, rows->snapshot.pending_count, sizeof *index);
	struct preempted p = {
		arena, policy, rows->snapshot, index, rows->candidates, schedule_arena_take(arena, count, sizeof *p.offered),
		count, times,  messages};
	struct schedule_result *next = NULL;

	for (size_t i = 0; i < rows->snapshot.pending_count; i++)
		index[i] = i;
	for (int round = 0; round < 2 && count > 0; round++) {
		for (size_t i = 0; i < count; i++) {
			p.offered[i] = rows->candidates[i];
			if (round > 0)
				p.offered[i].from_at = 0;
		}
		if (!preempted_round(&p, next ? next : result, rows))
			continue;
		schedule_result_free(next);
		next = schedule_run(&p.now, policy);
		waits_note(&p, next);
	}
	schedule_result_free(next);
}
