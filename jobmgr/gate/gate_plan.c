/* gate_plan.c - a plan in fewer words: what it says twice is said once, and what says nothing is left out.
 *
 * gate_job.c calls it, once the steps are vouched for. What always holds: the database reads the same plan out of it. */
#include "jobmgr/gate/gate_plan.h"

#include <stdlib.h>
#include <string.h>

#include "lib/err.h"

/* Whether the database takes it for the same when it is not there: of a long plan that is a third. */
static bool says_nothing(const json_t *value)
{
	return json_is_null(value) ||
	       ((json_is_object(value) || json_is_array(value)) && !json_object_size(value) && !json_array_size(value));
}

/* What an object says beyond `common`, which may be NULL. */
static json_t *plan_said(json_t *object, const json_t *common)
{
	json_t *said = json_object(), *value;
	const char *key;

	json_object_foreach (object, key, value)
		if (!says_nothing(value) && !json_object_get(common, key))
			json_object_set(said, key, value);
	return said;
}

static void plan_shorten_list(json_t *list, const json_t *common)
{
	json_t *item;
	size_t i;

	json_array_foreach (list, i, item)
		json_array_set_new(list, i, plan_said(item, common));
}

/* What all of at least two steps have alike: of a long plan, most. */
static json_t *plan_common(const json_t *steps)
{
	json_t *common = plan_said(json_array_get(steps, 0), NULL), *value;
	const json_t *step;
	const char *key;
	void *next;
	size_t i;

	json_array_foreach (steps, i, step) {
		json_object_foreach_safe(common, next, key, value)
		{
			if (!json_equal(value, json_object_get(step, key)))
				json_object_del(common, key);
		}
	}
	return common;
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
	json_t *steps = json_object_get(plan, "steps"), *common = NULL;

	if (json_array_size(steps) > 1) {
		plan_share_spec(plan);
		common = plan_common(steps);
		json_object_set_new(plan, "common", common);
	}
	plan_shorten_list(steps, common);
	plan_shorten_list(json_object_get(plan, "edges"), NULL);
	json_object_set_new(plan, "job", plan_said(json_object_get(plan, "job"), NULL));
}
