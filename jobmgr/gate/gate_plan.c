/* gate_plan.c - a plan in fewer words: what it says twice is said once, and what says nothing is left out.
 *
 * gate_job.c calls it, once the steps are vouched for. What always holds: the database reads the same plan out of it. */
#include "jobmgr/gate/gate_plan.h"

#include <stdlib.h>
#include <string.h>

#include "lib/err.h"

/* Leave out what is null or holds nothing: the database takes what is not there for the same, and of a long plan it is a third. */
static void plan_trim(json_t *object)
{
	const char *key;
	json_t *value;
	void *next;

	json_object_foreach_safe(object, next, key, value)
	{
		bool holds_nothing =
			(json_is_object(value) || json_is_array(value)) && !json_object_size(value) && !json_array_size(value);

		if (json_is_null(value) || holds_nothing)
			json_object_del(object, key);
	}
}

static bool plan_alike(const json_t *list, const char *key, const json_t *value)
{
	const json_t *item;
	size_t i;

	json_array_foreach (list, i, item)
		if (!json_equal(value, json_object_get(item, key)))
			return false;
	return true;
}

/* What all steps have alike is said once, as the plan's "common": of a long plan, most. */
static void plan_share(json_t *plan)
{
	json_t *steps = json_object_get(plan, "steps"), *common, *step, *value;
	const char *key;
	void *next;
	size_t i;

	if (json_array_size(steps) < 2)
		return;
	common = json_copy(json_array_get(steps, 0));
	json_object_foreach_safe(common, next, key, value)
	{
		if (!plan_alike(steps, key, value))
			json_object_del(common, key);
	}
	json_array_foreach (steps, i, step)
		json_object_foreach (common, key, value)
			json_object_del(step, key);
	json_object_set_new(plan, "common", common);
}

static size_t shared_end(const char *a, size_t a_length, const char *b, size_t b_length, size_t most)
{
	size_t n = 0;

	while (n < most && n < a_length && n < b_length && a[a_length - n - 1] == b[b_length - n - 1])
		n++;
	return n;
}

/* The lines in which the specs of all steps end alike become the plan's "spec_end": what only some have comes first in a spec. */
static void plan_share_spec(json_t *plan)
{
	json_t *steps = json_object_get(plan, "steps"), *step;
	const json_t *first = json_object_get(json_array_get(steps, 0), "spec");
	size_t i, length = json_string_length(first), most = length;
	const char *text = json_string_value(first), *end;
	char *shared;

	if (json_array_size(steps) < 2)
		return;
	json_array_foreach (steps, i, step) {
		const json_t *spec = json_object_get(step, "spec");

		most = shared_end(text, length, json_string_value(spec), json_string_length(spec), most);
	}
	end = strchr(text + length - most, '\n');
	if (!end)
		return;
	shared = xstrdup(end + 1);
	json_object_set_new(plan, "spec_end", json_string(shared));
	json_array_foreach (steps, i, step) {
		const json_t *spec = json_object_get(step, "spec");

		json_object_set_new(step, "spec",
				    json_stringn(json_string_value(spec), json_string_length(spec) - strlen(shared)));
	}
	free(shared);
}

void gate_plan_shorten(json_t *plan)
{
	json_t *item;
	size_t i;

	json_array_foreach (json_object_get(plan, "steps"), i, item)
		plan_trim(item);
	plan_share_spec(plan);
	plan_share(plan);
	json_array_foreach (json_object_get(plan, "edges"), i, item)
		plan_trim(item);
	plan_trim(json_object_get(plan, "job"));
}
