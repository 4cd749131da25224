/* lead_plan.c - compares the waiting steps of a cycle with the plan that was written last, and writes the changes as JSON.
 *
 * Called by: lead_cycle_write.c, after a full scan and for each start.
 * Invariants:
 *  - Expected starts are whole seconds, so that rounding does not change the plan.
 *  - An unchanged row of the plan is not written again. */
#include "jobmgr/lead/lead_plan.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "jobmgr/schedule/schedule_arena.h"
#include "lib/err.h"

/* Sort key of the lists of waiting steps and of blockers. It is the first member of their items. */
struct key {
	int64_t job;
	int step;
};

/* A waiting step, with its row of the plan as it was written last. */
struct known_wait {
	struct key key;
	const struct schedule_wait *wait; /* NULL: the row of the plan was deleted */
};

/* A step that another one waits for. */
struct blocker {
	struct key key;
	const char *label;			/* name of the blocking step, if it is running; NULL: not running */
	const struct schedule_pending *pending; /* the blocking step, if it is pending; NULL: not pending */
	/* array index of a blocking element that has a row of its own; -1: no such element */
	int array_index;
};

struct lead_plan {
	struct schedule_arena *arena; /* memory of the copy of the plan; NULL: the plan in the database is not known */
	struct known_wait *steps;
	size_t count;
	size_t live_count; /* number of waiting steps whose row of the plan was not deleted */
};

struct lead_plan *lead_plan_new(void)
{
	return xcalloc(1, sizeof(struct lead_plan));
}

void lead_plan_free(struct lead_plan *plan)
{
	lead_plan_drop(plan);
	free(plan);
}

void lead_plan_drop(struct lead_plan *plan)
{
	schedule_arena_free(plan->arena);
	*plan = (struct lead_plan){0};
}

static int compare_keys(const void *a, const void *b)
{
	const struct key *x = a, *y = b;

	if (x->job != y->job)
		return x->job < y->job ? -1 : 1;
	return (x->step > y->step) - (x->step < y->step);
}

static struct known_wait *find_known(const struct known_wait *list, size_t count, int64_t job, int step)
{
	struct key wanted = {job, step};

	return count > 0 ? bsearch(&wanted, list, count, sizeof *list, compare_keys) : NULL;
}

void lead_plan_note_start(struct lead_plan *plan, int64_t job, int step)
{
	struct known_wait *one = find_known(plan->steps, plan->count, job, step);

	if (!one || !one->wait)
		return;
	one->wait = NULL;
	plan->live_count--;
}

/* Returns the expected start, rounded up to a second, or -1 if it is not known. */
static int64_t plan_second(const struct schedule_wait *wait)
{
	return isfinite(wait->expected_at) ? (int64_t)ceil(wait->expected_at) : -1;
}

static bool is_same_wait(const struct schedule_wait *a, const struct schedule_wait *b)
{
	return plan_second(a) == plan_second(b) && a->reason == b->reason && a->blocker_job == b->blocker_job &&
	       a->blocker_step == b->blocker_step && a->node_count == b->node_count &&
	       (a->node_count == 0 || memcmp(a->node_ids, b->node_ids, a->node_count * sizeof *a->node_ids) == 0) &&
	       strcmp(a->message, b->message) == 0;
}

static void sort_known(struct known_wait *list, const struct schedule_wait *waits, size_t count)
{
	for (size_t i = 0; i < count; i++)
		list[i] = (struct known_wait){{waits[i].job, waits[i].step}, &waits[i]};
	qsort(list, count, sizeof *list, compare_keys);
}

static void changes_add_gone(struct lead_plan_changes *changes, const struct lead_plan *plan,
			     const struct schedule_result *result)
{
	struct known_wait *now = xcalloc(result->wait_count + 1, sizeof *now);

	sort_known(now, result->waits, result->wait_count);
	for (size_t i = 0; i < plan->count; i++) {
		const struct known_wait *before = &plan->steps[i];

		if (!before->wait || find_known(now, result->wait_count, before->key.job, before->key.step))
			continue;
		db_array_int(changes->gone_jobs, before->key.job);
		db_array_int(changes->gone_steps, before->key.step);
		changes->gone_count++;
	}
	free(now);
}

struct lead_plan_changes *lead_plan_compare(const struct lead_plan *plan, const struct schedule_result *result)
{
	struct lead_plan_changes *changes = xcalloc(1, sizeof *changes);
	size_t known = 0;

	changes->whole = !plan->arena;
	changes->waits = xcalloc(result->wait_count + 1, sizeof *changes->waits);
	changes->gone_jobs = db_array_new();
	changes->gone_steps = db_array_new();
	for (size_t i = 0; i < result->wait_count; i++) {
		const struct schedule_wait *wait = &result->waits[i];
		const struct known_wait *before = find_known(plan->steps, plan->count, wait->job, wait->step);

		known += before && before->wait;
		if (!before || !before->wait || !is_same_wait(before->wait, wait))
			changes->waits[changes->wait_count++] = wait;
	}
	if (known < plan->live_count) /* a result of the scheduler has at most one row for each step */
		changes_add_gone(changes, plan, result);
	return changes;
}

bool lead_plan_changes_any(const struct lead_plan_changes *changes)
{
	return changes->whole || changes->wait_count > 0 || changes->gone_count > 0;
}

void lead_plan_changes_free(struct lead_plan_changes *changes)
{
	db_array_free(changes->gone_jobs);
	db_array_free(changes->gone_steps);
	free(changes->waits);
	free(changes);
}

static struct schedule_wait copy_wait(struct schedule_arena *arena, const struct schedule_wait *from)
{
	struct schedule_wait wait = *from;
	int *nodes = schedule_arena_take(arena, from->node_count, sizeof *nodes);

	if (from->node_count > 0)
		memcpy(nodes, from->node_ids, from->node_count * sizeof *nodes);
	wait.node_ids = nodes;
	wait.message = schedule_arena_print(arena, "%s", from->message);
	return wait;
}

void lead_plan_note_written(struct lead_plan *plan, const struct schedule_result *result)
{
	size_t count = result->wait_count;
	struct schedule_wait *waits;

	lead_plan_drop(plan);
	plan->arena = schedule_arena_new();
	waits = schedule_arena_take(plan->arena, count, sizeof *waits);
	for (size_t i = 0; i < count; i++)
		waits[i] = copy_wait(plan->arena, &result->waits[i]);
	plan->count = plan->live_count = count;
	plan->steps = schedule_arena_take(plan->arena, count, sizeof *plan->steps);
	sort_known(plan->steps, waits, count);
}

struct blockers {
	struct blocker *list;
	size_t count;
};

static struct blocker *find_blocker(const struct blockers *b, int64_t job, int step)
{
	struct key wanted = {job, step};

	return b->count > 0 ? bsearch(&wanted, b->list, b->count, sizeof *b->list, compare_keys) : NULL;
}

/* Returns the steps that the changed rows of the plan name as blockers. */
static struct blockers blockers_list(const struct lead_plan_changes *changes)
{
	struct blockers b = {xcalloc(changes->wait_count + 1, sizeof *b.list), 0};
	size_t named = 0;

	for (size_t i = 0; i < changes->wait_count; i++) {
		if (changes->waits[i]->blocker_step >= 0)
			b.list[named++].key = (struct key){changes->waits[i]->blocker_job, changes->waits[i]->blocker_step};
	}
	qsort(b.list, named, sizeof *b.list, compare_keys);
	for (size_t i = 0; i < named; i++) {
		if (i == 0 || compare_keys(&b.list[i], &b.list[b.count - 1]) != 0)
			b.list[b.count++] = b.list[i];
	}
	return b;
}

/* Returns the blockers of the changed rows of the plan, each with its label or its pending step. */
static struct blockers blockers_resolve(const struct lead_plan_changes *changes, const struct lead_rows *rows)
{
	const struct schedule_snapshot *s = &rows->snapshot;
	struct blockers b = blockers_list(changes);
	struct blocker *found;

	for (size_t i = 0; i < s->pending_count; i++) {
		found = find_blocker(&b, s->pending[i].job, s->pending[i].step);
		if (found) {
			found->pending = &s->pending[i];
			found->array_index = rows->keys[i].array_index;
		}
	}
	for (size_t i = 0; i < s->running_count; i++) {
		found = find_blocker(&b, s->running[i].job, s->running[i].step);
		if (found)
			found->label = s->running[i].label;
	}
	return b;
}

static json_t *blocker_json(const struct schedule_wait *wait, const struct blockers *b)
{
	const struct blocker *found = find_blocker(b, wait->blocker_job, wait->blocker_step);

	if (found && found->label)
		return json_string(found->label);
	if (!found || !found->pending)
		return json_null();
	if (found->array_index < 0)
		return json_sprintf("%lld.%s", (long long)found->key.job, found->pending->name);
	return json_sprintf("%lld.%s[%d]", (long long)found->key.job, found->pending->name, found->array_index);
}

static json_t *nodes_json(const struct schedule_wait *wait)
{
	json_t *nodes = json_array();

	for (size_t i = 0; i < wait->node_count; i++)
		json_array_append_new(nodes, json_integer(wait->node_ids[i]));
	return nodes;
}

char *lead_plan_changes_json(const struct lead_plan_changes *changes, const struct lead_rows *rows)
{
	struct blockers b = blockers_resolve(changes, rows);
	json_t *waits = json_array();
	char *text;

	for (size_t i = 0; i < changes->wait_count; i++) {
		const struct schedule_wait *wait = changes->waits[i];
		int64_t second = plan_second(wait);
		json_t *expected = second >= 0 ? json_integer(second) : json_null();

		json_array_append_new(waits, json_pack("{s:I, s:i, s:o, s:o, s:o, s:s, s:s}", "job", (json_int_t)wait->job,
						       "step", wait->step, "expected_at", expected, "nodes", nodes_json(wait),
						       "blocker", blocker_json(wait, &b), "reason",
						       schedule_reason_name(wait->reason), "message", wait->message));
	}
	text = json_dumps(waits, JSON_COMPACT);
	json_decref(waits);
	free(b.list);
	if (!text)
		die("could not write a plan as JSON");
	return text;
}
