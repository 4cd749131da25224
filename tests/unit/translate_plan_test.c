/* translate_plan_test.c - plans in short: what a step says itself, and that all of it is everything that it asks for. */
#include "tests/unit/translate_case.h"

static json_t *short_plan(const char *script)
{
	struct translate_problems problems;
	json_t *plan = run(script, NULL, NULL, &problems);
	assert_non_null(plan);
	return plan;
}

/* Members of a step besides those that each one has. */
static void check_said(const json_t *plan, const char *path, const char *said)
{
	static const char *const each[] = {"step_id", "name", "line", "topo", "spec"};
	json_t *step = json_copy((json_t *)pick(plan, path));
	for (size_t i = 0; i < sizeof each / sizeof *each; i++)
		assert_int_equal(json_object_del(step, each[i]), 0);
	char *text = json_dumps(step, JSON_COMPACT | JSON_SORT_KEYS);
	assert_string_equal(text, said);
	free(text);
	json_decref(step);
}

#define STEPS                                                                                                                    \
	BASH "#ROTA --mem=2G --gres=gpu:1\n"                                                                                     \
	     "#ROTA step plain\n"                                                                                                \
	     "#ROTA step after --after=plain?12\n"                                                                               \
	     "#ROTA step beside --after=none --with=plain\n"                                                                     \
	     "#ROTA step other --gres=none --retry=2\n"                                                                          \
	     "#ROTA step wide --nodes=2 --gres=gpu:1\n"                                                                          \
	     "#ROTA step there --same-nodes=wide\n"

static void said_once(void **state)
{
	json_t *plan = short_plan(STEPS);
	(void)state;
	assert_int_equal(json_integer_value(pick(plan, "common/mem_mb")), 2048);
	check_said(plan, "steps/0", "{\"with_set\":0}");
	check_said(plan, "steps/1", "{\"deps_any\":true}");
	check_said(plan, "steps/2", "{\"with_set\":0}");
	check_said(plan, "steps/3", "{\"gres\":{},\"retry\":2}");
	json_decref(plan);
	plan = short_plan(BASH "#ROTA step a --nodes=2\n#ROTA step b --nodes=2\n");
	check_said(plan, "steps/0", "{}");
	check_said(plan, "steps/1", "{}");
	json_decref(plan);
	plan = short_plan(BASH "#ROTA step a --nodes=2\n#ROTA step b\n#ROTA step c\n");
	check_said(plan, "steps/0", "{\"nodes_max\":2,\"nodes_min\":2,\"ntasks\":2}");
	check_said(plan, "steps/1", "{}");
	json_decref(plan);
}

/* Also of `there`, which has as many nodes as the step whose nodes they are, though its own line asks for none. */
static void whole(void **state)
{
	json_t *plan = short_plan(STEPS), *whole = plan_of(STEPS, NULL);
	(void)state;
	assert_null(pick(whole, "common"));
	for (size_t i = 0; i < 6; i++) {
		const json_t *step = json_array_get(json_object_get(whole, "steps"), i);
		char *spec = translate_plan_spec(plan, json_array_get(json_object_get(plan, "steps"), i));
		struct order_spec read;
		fields_free(spec_of(step, &read));
		assert_string_equal(read.step_name, json_string_value(json_object_get(step, "name")));
		assert_string_equal(spec, json_string_value(json_object_get(step, "spec")));
		assert_null(json_object_get(step, "spec_end"));
		assert_int_equal(json_integer_value(json_object_get(step, "mem_mb")), 2048);
		assert_int_equal(json_object_size(json_object_get(step, "gres")), i == 3 ? 0 : 1);
		assert_int_equal(json_integer_value(json_object_get(step, "nodes_min")), i < 4 ? 1 : 2);
		assert_int_equal(json_object_size(step), json_object_size(pick(whole, "steps/0")));
		free(spec);
	}
	json_decref(whole);
	json_decref(plan);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(said_once), cmocka_unit_test(whole)};
	return cmocka_run_group_tests(tests, utc, NULL);
}
