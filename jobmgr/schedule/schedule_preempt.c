/* schedule_preempt.c - tries which running steps have to end so that the scheduler itself would start a waiting one.
 *
 * Called by: lead_preempt.c, after the starts of a cycle.
 * Invariants:
 *  - Victims are of lower tiers than the step, of the lowest tiers that make room, and each of them is needed: without it the
 *    step would not start.
 *  - Starts of the cycle and of earlier picks count as running. No step is a victim twice.
 *  - Each run has the steps that are ahead in the queue and still wait, so a pick delays none of them.
 *  - The number of runs of the scheduler in a call is bounded. Steps that are left are tried in the next cycle. */
#include "jobmgr/schedule/schedule_preempt.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "jobmgr/schedule/schedule_victims.h"

enum { RUNS_LEAST = 32, RUNS_MOST = 1024, FAILURES_MOST = 8, AHEAD_MOST = 8, PRUNE_MOST = 64, MEMBERS_MOST = 64 };

static const double run_work = 4e5; /* most rows and nodes that all runs of the scheduler of one call read: about half a second */

struct preempt {
	struct schedule_arena *arena;
	const struct schedule_snapshot *snapshot;
	const struct schedule_policy *policy;
	/* the snapshot with the starts of the cycle and of the picks, and without the picked victims */
	struct schedule_change *now;
	struct schedule_victim *victims;
	size_t victim_count;
	size_t ahead[AHEAD_MOST]; /* indexes of earlier pending steps that still wait for resources */
	size_t ahead_count;
	size_t member[MEMBERS_MOST]; /* indexes of the pending step, or of the members of its gang */
	size_t member_count;
	size_t runs, runs_most, failures;
	struct schedule_pick *picks;
	size_t pick_count;
	/* starts of the latest run of the scheduler in which the step started: */
	struct schedule_start *starts;
	size_t start_count;
};

/* Part 1: find the running rows of the candidates. */

struct row_key {
	int64_t job;
	int step;
	size_t row;
};

static int compare_keys(const void *a, const void *b)
{
	const struct row_key *x = a, *y = b;
	if (x->job != y->job)
		return x->job < y->job ? -1 : 1;
	if (x->step != y->step)
		return x->step < y->step ? -1 : 1;
	return (x->row > y->row) - (x->row < y->row);
}

/* Returns the index of the first key that is not less than (job, step). */
static size_t keys_find(const struct row_key *keys, size_t count, int64_t job, int step)
{
	size_t low = 0, high = count;
	while (low < high) {
		size_t middle = (low + high) / 2;
		if (keys[middle].job < job || (keys[middle].job == job && keys[middle].step < step))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Make a victim with its running rows of each candidate that may be preempted now. A candidate without rows has ended. */
static void preempt_find_rows(struct preempt *t, const struct schedule_candidate *candidates, size_t count)
{
	const struct schedule_snapshot *s = t->snapshot;
	struct row_key *keys = schedule_arena_take(t->arena, s->running_count, sizeof *keys);
	size_t *rows = schedule_arena_take(t->arena, s->running_count, sizeof *rows), key_count = 0;
	for (size_t i = 0; i < s->running_count; i++)
		if (!s->running[i].reserved && !s->running[i].predispatched)
			keys[key_count++] = (struct row_key){s->running[i].job, s->running[i].step, i};
	if (key_count)
		qsort(keys, key_count, sizeof *keys, compare_keys);
	for (size_t i = 0; i < key_count; i++)
		rows[i] = keys[i].row;
	t->victims = schedule_arena_take(t->arena, count, sizeof *t->victims);
	for (size_t i = 0; i < count; i++) {
		const struct schedule_candidate *one = &candidates[i];
		if (one->from_at > s->now)
			continue;
		size_t from = keys_find(keys, key_count, one->job, one->step), to = from, cpus = 0;
		for (; to < key_count && keys[to].job == one->job && keys[to].step == one->step; to++)
			cpus += (size_t)s->running[keys[to].row].cpus;
		if (to > from)
			t->victims[t->victim_count++] =
				(struct schedule_victim){one, &rows[from], to - from, one->lost_s * (double)cpus, false, false};
	}
}

/* Part 2: would the step start if these candidates ended? */

/* Copy a pending step for a run of the scheduler in which one of its elements is to start. */
static struct schedule_pending run_pending(const struct schedule_pending *step)
{
	struct schedule_pending copy = *step;
	if (copy.array_size > 0 && copy.with_count == 0)
		copy.array_free_slots = 1;
	copy.array_predispatch = 0;
	return copy;
}

/* Copy the starts of the members from `result` into `t`. Their pending indexes become those of the snapshot. The shares are
 * copied. */
static void run_keep_starts(struct preempt *t, const struct schedule_result *result)
{
	t->starts = schedule_arena_take(t->arena, result->start_count, sizeof *t->starts);
	t->start_count = 0;
	for (size_t i = 0; i < result->start_count; i++) {
		const struct schedule_start *start = &result->starts[i];
		if (start->pending < t->ahead_count)
			continue;
		struct schedule_start *kept = &t->starts[t->start_count++];
		*kept = *start;
		kept->pending = t->member[start->pending - t->ahead_count];
		kept->shares = schedule_change_copy_shares(t->arena, start);
	}
}

static void victim_end(struct schedule_change *change, const struct schedule_victim *victim)
{
	for (size_t i = 0; i < victim->row_count; i++) {
		if (victim->candidate->suspends)
			schedule_change_suspend(change, victim->rows[i], victim->candidate->gives);
		else
			schedule_change_end(change, victim->rows[i]);
	}
}

/* Would all members start if the victims of `list`, except list[without], had ended? If so, t->starts is set to their starts. */
static bool preempt_fits(struct preempt *t, struct schedule_victim *const *list, size_t count, size_t without)
{
	struct schedule_arena *arena = schedule_arena_new();
	struct schedule_change *change = schedule_change_new(arena, &t->now->snapshot, 0);
	struct schedule_pending pending[AHEAD_MOST + MEMBERS_MOST];
	for (size_t i = 0; i < count; i++)
		if (i != without)
			victim_end(change, list[i]);
	for (size_t i = 0; i < t->ahead_count; i++)
		pending[i] = run_pending(&t->snapshot->pending[t->ahead[i]]);
	for (size_t i = 0; i < t->member_count; i++)
		pending[t->ahead_count + i] = run_pending(&t->snapshot->pending[t->member[i]]);
	change->snapshot.pending = pending;
	change->snapshot.pending_count = t->ahead_count + t->member_count;
	struct schedule_result *result = schedule_run(&change->snapshot, t->policy);
	bool started[MEMBERS_MOST] = {0};
	size_t missing = t->member_count;
	for (size_t i = 0; i < result->start_count; i++) {
		size_t at = result->starts[i].pending;
		if (at >= t->ahead_count && !started[at - t->ahead_count]) {
			started[at - t->ahead_count] = true;
			missing--;
		}
	}
	if (!missing)
		run_keep_starts(t, result);
	t->runs++;
	schedule_result_free(result);
	schedule_arena_free(arena);
	return !missing;
}

/* Part 3: choose victims for one step. */

static bool starts_use_node(const struct preempt *t, int node_id)
{
	for (size_t i = 0; i < t->start_count; i++)
		for (size_t k = 0; k < t->starts[i].share_count; k++)
			if (t->starts[i].shares[k].node_id == node_id)
				return true;
	return false;
}

/* Does a victim hold a licence, or any resource on a node of t->starts? */
static bool victim_helps(const struct preempt *t, const struct schedule_victim *victim)
{
	for (size_t i = 0; i < victim->row_count; i++) {
		const struct schedule_running *row = &t->snapshot->running[victim->rows[i]];
		if (row->license_count || starts_use_node(t, row->node_id))
			return true;
	}
	return false;
}

/* Move the victims that hold a licence or a resource where the step would start to the front of the list. Returns their
 * number. */
static size_t victims_narrow(const struct preempt *t, struct schedule_victim **list, size_t count)
{
	size_t kept = 0;
	for (size_t i = 0; i < count; i++) {
		struct schedule_victim *one = list[i];
		if (!victim_helps(t, one))
			continue;
		list[i] = list[kept];
		list[kept++] = one;
	}
	return kept;
}

static int compare_lost(const void *a, const void *b)
{
	const struct schedule_victim *x = *(struct schedule_victim *const *)a, *y = *(struct schedule_victim *const *)b;
	if (x->lost != y->lost)
		return x->lost > y->lost ? -1 : 1;
	return (x > y) - (x < y);
}

/* Drop victims without which the step would start as well, most lost work first. Returns the number of victims that are left. */
static size_t victims_prune(struct preempt *t, struct schedule_victim **list, size_t count)
{
	size_t narrowed = victims_narrow(t, list, count);
	if (narrowed < count && preempt_fits(t, list, narrowed, SIZE_MAX))
		count = narrowed;
	if (count < 2)
		return count;
	qsort(list, count, sizeof *list, compare_lost);
	for (size_t i = 0, tried = 0; i < count && tried < PRUNE_MOST && count > 1; tried++) {
		if (preempt_fits(t, list, count, i))
			memmove(&list[i], &list[i + 1], (--count - i) * sizeof *list);
		else
			i++;
	}
	return count;
}

/* Returns how many victims from the front of the list make room for the step: `likely` if these suffice, else as few as a
 * binary search finds. Returns 0 if even the whole list does not make room. */
static size_t victims_find(struct preempt *t, struct schedule_victim *const *list, size_t count, size_t likely)
{
	size_t low = likely, high = count;
	if (likely > 0 && likely < count && preempt_fits(t, list, likely, SIZE_MAX))
		return likely;
	if (!count || !preempt_fits(t, list, count, SIZE_MAX))
		return 0;
	while (low + 1 < high) {
		size_t middle = low + (high - low) / 2;
		if (preempt_fits(t, list, middle, SIZE_MAX))
			high = middle;
		else
			low = middle;
	}
	return high;
}

/* List the tiers of candidates that are less than `below`, ascending and each once. Returns their number. */
static size_t levels_list(const struct preempt *t, int below, int *levels, size_t most)
{
	size_t count = 0;
	for (size_t i = 0; i < t->victim_count; i++) {
		int tier = t->victims[i].candidate->tier;
		size_t at = 0;
		if (tier >= below || t->victims[i].taken)
			continue;
		while (at < count && levels[at] < tier)
			at++;
		if ((at < count && levels[at] == tier) || count == most)
			continue;
		memmove(&levels[at + 1], &levels[at], (count - at) * sizeof *levels);
		levels[at] = tier;
		count++;
	}
	return count;
}

static int members_tier(const struct preempt *t)
{
	int tier = t->snapshot->pending[t->member[0]].tier;
	for (size_t i = 1; i < t->member_count; i++)
		if (t->snapshot->pending[t->member[i]].tier < tier)
			tier = t->snapshot->pending[t->member[i]].tier;
	return tier;
}

/* Choose victims of the lowest tiers that make room for the members. Returns false if no set of victims does. If the victims of
 * earlier picks make enough room, none is chosen. */
static bool preempt_choose(struct preempt *t, struct schedule_victim **list, size_t *chosen)
{
	enum { LEVELS_MOST = 256 };
	int levels[LEVELS_MOST];
	size_t count = levels_list(t, members_tier(t), levels, LEVELS_MOST);
	const struct schedule_pending *step = &t->snapshot->pending[t->member[0]];
	*chosen = 0;
	if (t->pick_count && preempt_fits(t, NULL, 0, SIZE_MAX))
		return true;
	for (size_t i = 0; i < count && t->runs < t->runs_most; i++) {
		size_t likely;
		size_t listed = schedule_victims_order(t->arena, &t->now->snapshot, step, t->victims, t->victim_count, levels[i],
						       list, &likely);
		*chosen = victims_find(t, list, listed, likely);
		if (!*chosen)
			continue;
		*chosen = victims_prune(t, list, *chosen);
		return true;
	}
	return false;
}

/* Record a pick in the changed snapshot `now`: its victims have ended, and its members run. */
static void preempt_note(struct preempt *t, struct schedule_victim *const *list, size_t count)
{
	const struct schedule_candidate **victims = schedule_arena_take(t->arena, count, sizeof *victims);
	struct schedule_change *next =
		schedule_change_new(t->arena, &t->now->snapshot, schedule_change_shares(t->starts, t->start_count));
	for (size_t i = 0; i < count; i++) {
		list[i]->taken = true;
		victims[i] = list[i]->candidate;
		victim_end(next, list[i]);
	}
	for (size_t i = 0; i < t->start_count; i++)
		schedule_change_start(next, &t->starts[i], &t->snapshot->pending[t->starts[i].pending]);
	t->now = next;
	if (count)
		t->picks[t->pick_count++] = (struct schedule_pick){t->starts, t->start_count, victims, count};
}

/* Part 4: go through the waiting steps. */

/* Set t->member to the step with index `first`, or to all members of its gang. Returns false if the gang cannot preempt: not all
 * of its members are pending, it is too large or has an array, or an earlier member was tried. */
static bool preempt_collect(struct preempt *t, size_t first)
{
	const struct schedule_pending *pending = t->snapshot->pending, *step = &pending[first];
	t->member_count = 0;
	if (step->with_count == 0) {
		t->member[t->member_count++] = first;
		return true;
	}
	for (size_t i = 0; i < t->snapshot->pending_count; i++) {
		if (pending[i].with_count == 0 || pending[i].job != step->job || pending[i].with_set != step->with_set)
			continue;
		if (i < first || t->member_count == MEMBERS_MOST || pending[i].array_size > 0)
			return false;
		t->member[t->member_count++] = i;
	}
	return t->member_count == (size_t)step->with_count;
}

/* Returns how many elements of an array may start, or 1 for a step, less the number of claims that the step has. */
static size_t preempt_wanted(const struct schedule_pending *step, const struct schedule_result *result,
			     const struct schedule_claim *claims, size_t claim_count)
{
	size_t wanted = 1, has = 0;
	if (step->array_size > 0) {
		wanted = (size_t)(step->array_size - step->array_next) - step->array_skip_count;
		for (size_t i = 0; i < result->start_count; i++)
			has += result->starts[i].job == step->job && result->starts[i].step == step->step;
		if (step->array_free_slots >= 0 && (size_t)step->array_free_slots < wanted)
			wanted = (size_t)step->array_free_slots;
	}
	for (size_t i = 0; i < claim_count; i++)
		has += claims[i].job == step->job && claims[i].step == step->step;
	return has < wanted ? wanted - has : 0;
}

bool schedule_preempt_may(const struct schedule_wait *wait)
{
	return wait->reason == SCHEDULE_RESOURCES || wait->reason == SCHEDULE_PRIORITY || wait->reason == SCHEDULE_LICENSE;
}

/* Pick victims for one step, for `wanted` elements of an array one after the other. A single step that
 * still waits then is added to `ahead`; a gang is not. */
static void preempt_step(struct preempt *t, size_t first, size_t wanted, struct schedule_victim **list)
{
	size_t picked = 0;
	while (picked < wanted && t->runs < t->runs_most) {
		size_t count;
		if (!preempt_choose(t, list, &count))
			break;
		preempt_note(t, list, count);
		picked++;
	}
	if (picked == wanted)
		return;
	t->failures++;
	if (t->ahead_count < AHEAD_MOST && t->member_count == 1)
		t->ahead[t->ahead_count++] = first;
}

struct schedule_picks schedule_preempt(struct schedule_arena *arena, const struct schedule_snapshot *snapshot,
				       const struct schedule_policy *policy, const struct schedule_result *result,
				       const struct schedule_candidate *candidates, size_t candidate_count,
				       const struct schedule_claim *claims, size_t claim_count)
{
	struct preempt t = {.arena = arena, .snapshot = snapshot, .policy = policy};
	double work = run_work / (double)(snapshot->node_count + snapshot->running_count + 1);
	t.runs_most = work > RUNS_MOST ? RUNS_MOST : work < RUNS_LEAST ? RUNS_LEAST : (size_t)work;
	preempt_find_rows(&t, candidates, candidate_count);
	/* each pick has at least one victim that no other pick has */
	t.picks = schedule_arena_take(arena, t.victim_count, sizeof *t.picks);
	t.now = schedule_change_after(arena, snapshot, result, 0);
	struct schedule_victim **list = schedule_arena_take(arena, t.victim_count, sizeof *list);
	for (size_t i = 0; i < result->wait_count; i++) {
		const struct schedule_wait *wait = &result->waits[i];
		const struct schedule_pending *step = &snapshot->pending[wait->pending];
		if (!schedule_preempt_may(wait) || !t.victim_count)
			continue;
		if (t.runs >= t.runs_most || t.failures >= FAILURES_MOST)
			break;
		size_t wanted = preempt_wanted(step, result, claims, claim_count);
		if (wanted && preempt_collect(&t, wait->pending))
			preempt_step(&t, wait->pending, wanted, list);
	}
	return (struct schedule_picks){t.picks, t.pick_count, t.runs, t.runs >= t.runs_most};
}
