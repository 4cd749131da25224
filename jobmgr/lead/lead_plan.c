/* lead_plan.c - waits to JSON, with the labels that people know.
 *
 * lead_pass.c calls it at the end of a pass. What always holds: one entry for each wait, in the order of the queue; times are
 * whole seconds, so that a plan changes only when something did. */
#include "jobmgr/lead/lead_plan.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "jobmgr/schedule/schedule_arena.h"
#include "lib/err.h"

/* A step that may stand in somebody's way. */
struct named {
	int64_t job;
	int step;
	const char *label;
};

static int compare_named(const void *a, const void *b)
{
	const struct named *x = a, *y = b;

	if (x->job != y->job)
		return x->job < y->job ? -1 : 1;
	return (x->step > y->step) - (x->step < y->step);
}

/* The labels of all pending and running steps, sorted. */
static struct named *plan_names(const struct lead_rows *rows, size_t *count)
{
	const struct schedule_snapshot *s = &rows->snapshot;
	struct named *names = schedule_arena_take(rows->arena, s->pending_count + s->running_count, sizeof *names);

	*count = 0;
	for (size_t i = 0; i < s->pending_count; i++) {
		const struct schedule_pending *p = &s->pending[i];
		int index = rows->keys[i].array_index;
		const char *label = index < 0
					    ? schedule_arena_print(rows->arena, "%lld.%s", (long long)p->job, p->name)
					    : schedule_arena_print(rows->arena, "%lld.%s[%d]", (long long)p->job, p->name, index);

		names[(*count)++] = (struct named){p->job, p->step, label};
	}
	for (size_t i = 0; i < s->running_count; i++)
		names[(*count)++] = (struct named){s->running[i].job, s->running[i].step, s->running[i].label};
	qsort(names, *count, sizeof *names, compare_named);
	return names;
}

static json_t *plan_blocker(const struct schedule_wait *wait, const struct named *names, size_t count)
{
	struct named wanted = {.job = wait->blocker_job, .step = wait->blocker_step};
	const struct named *found;

	if (wait->blocker_step < 0 || count == 0)
		return json_null();
	found = bsearch(&wanted, names, count, sizeof *names, compare_named);
	return found && found->label ? json_string(found->label) : json_null();
}

static json_t *plan_nodes(const struct schedule_wait *wait)
{
	json_t *nodes = json_array();

	for (size_t i = 0; i < wait->node_count; i++)
		json_array_append_new(nodes, json_integer(wait->node_ids[i]));
	return nodes;
}

/* As it is said: the whole second up; -1: not known. */
static int64_t plan_second(const struct schedule_wait *wait)
{
	return isfinite(wait->expected_at) ? (int64_t)ceil(wait->expected_at) : -1;
}

void lead_plan_hash(const struct schedule_result *result, unsigned char hash[SEAL_HASH_SIZE])
{
	struct seal_hash h;

	seal_hash_begin(&h);
	for (size_t i = 0; i < result->wait_count; i++) {
		const struct schedule_wait *wait = &result->waits[i];
		int64_t numbers[] = {wait->job,		 wait->step,   plan_second(wait),	 wait->blocker_job,
				     wait->blocker_step, wait->reason, (int64_t)wait->node_count};

		seal_hash_add(&h, numbers, sizeof numbers);
		seal_hash_add(&h, wait->node_ids, wait->node_count * sizeof *wait->node_ids);
		seal_hash_add(&h, wait->message, strlen(wait->message) + 1);
	}
	seal_hash_end(&h, hash);
}

char *lead_plan_text(const struct lead_rows *rows, const struct schedule_result *result)
{
	size_t count;
	const struct named *names = plan_names(rows, &count);
	json_t *plan = json_array();
	char *text;

	for (size_t i = 0; i < result->wait_count; i++) {
		const struct schedule_wait *wait = &result->waits[i];
		int64_t second = plan_second(wait);
		json_t *expected = second >= 0 ? json_integer(second) : json_null();

		json_array_append_new(plan, json_pack("{s:I, s:i, s:o, s:o, s:o, s:s, s:s}", "job", (json_int_t)wait->job, "step",
						      wait->step, "expected_at", expected, "nodes", plan_nodes(wait), "blocker",
						      plan_blocker(wait, names, count), "reason",
						      schedule_reason_name(wait->reason), "message", wait->message));
	}
	text = json_dumps(plan, JSON_COMPACT);
	json_decref(plan);
	if (!text)
		die("could not write a plan as JSON");
	return text;
}
