/* translate_plan_test.c - compact plans: the members that a step has itself, and the plan as translate_plan_whole expands it. */
#include "tests/unit/translate_case.h"

static json_t *short_plan(const char *script)
{
	struct translate_problems problems;
	json_t *plan = run(script, NULL, NULL, &problems);
	assert_non_null(plan);
	return plan;
}

/* Check the members of a step, apart from those that every step has. */
static void check_members(const json_t *plan, const char *path, const char *expected)
{
	static const char *const each[] = {"step_id", "name", "line", "topo", "spec"};
	json_t *step = json_copy((json_t *)pick(plan, path));
	for (size_t i = 0; i < sizeof each / sizeof *each; i++)
		assert_int_equal(json_object_del(step, each[i]), 0);
	char *text = json_dumps(step, JSON_COMPACT | JSON_SORT_KEYS);
	assert_string_equal(text, expected);
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

static void members_once(void **state)
{
	json_t *plan = short_plan(STEPS);
	(void)state;
	assert_int_equal(json_integer_value(pick(plan, "common/mem_mb")), 2048);
	check_members(plan, "steps/0", "{\"with_set\":0}");
	check_members(plan, "steps/1", "{\"deps_any\":true}");
	check_members(plan, "steps/2", "{\"with_set\":0}");
	check_members(plan, "steps/3", "{\"gres\":{},\"retry\":2}");
	check_members(plan, "steps/5", "{\"nodes_max\":2,\"nodes_min\":2,\"ntasks\":2}");
	json_decref(plan);
	plan = short_plan(BASH "#ROTA step a --nodes=2\n#ROTA step b --nodes=2\n");
	check_members(plan, "steps/0", "{}");
	check_members(plan, "steps/1", "{}");
	json_decref(plan);
	plan = short_plan(BASH "#ROTA step a --nodes=2\n#ROTA step b --same-nodes=a\n#ROTA step c\n");
	check_members(plan, "steps/0", "{\"nodes_max\":2,\"nodes_min\":2,\"ntasks\":2}");
	check_members(plan, "steps/2", "{}");
	json_decref(plan);
}

/* A step has the lines of its spec that differ; the lines at the end of its spec that it shares are in the plan's "spec_end". */
static void ends(void **state)
{
	json_t *plan =
		short_plan(BASH "#ROTA --job-name=h\xc3\xa4\n#ROTA step a\n#ROTA step b --output=o\n#ROTA step c --group=g\n");
	const char *all = json_string_value(pick(plan, "spec_end"));
	(void)state;
	assert_true(strncmp(all, "job_name=3:h\xc3\xa4\naccount=", 23) == 0);
	assert_null(pick(plan, "steps/0/spec_end"));
	assert_true(strncmp(strstr(json_string_value(pick(plan, "steps/1/spec")), "step_name="),
			    "step_name=1:b\njob_name=3:h\xc3\xa4\n", 29) == 0);
	assert_int_equal(json_integer_value(pick(plan, "steps/1/spec_end")), strlen(strstr(all, "error=")));
	assert_int_equal(json_integer_value(pick(plan, "steps/2/spec_end")), strlen(strstr(all, "rlimits=")));
	json_decref(plan);
	plan = short_plan(BASH "#ROTA --workdir=/h\xc3\xa4\n#ROTA step a\n#ROTA step b --output=o\n");
	assert_int_equal(json_integer_value(pick(plan, "steps/1/spec_end")),
			 strlen(strstr(json_string_value(pick(plan, "spec_end")), "error=")) - 1);
	json_decref(plan);
}

/* Each step is expanded; `there` has as many nodes as the step whose nodes it uses, though its own line requests none. */
static void whole(void **state)
{
	json_t *plan = short_plan(STEPS), *whole = plan_of(STEPS, NULL);
	(void)state;
	assert_null(pick(whole, "common"));
	assert_null(pick(whole, "spec_end"));
	for (size_t i = 0; i < 6; i++) {
		const json_t *step = json_array_get(json_object_get(whole, "steps"), i);
		char *spec = translate_plan_spec(plan, json_array_get(json_object_get(plan, "steps"), i));
		struct order_spec read;
		fields_free(spec_of(step, &read));
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

#define STEPS_OF_SIZES                                                                                                           \
	"#ROTA step a\none\n#ROTA step b --after=a:any\n#ROTA step c --retry=3\n#ROTA step d --same-nodes=b\ntwo\n"              \
	"#ROTA step e --output=e --nodes=3\n"

/* A script whose steps request the defaults. */
static char *with_requests(const char *script)
{
	static const char step[] = "#ROTA step", option[] = " --requeue";
	char *text = xcalloc(strlen(script) * 2 + 1, 1), *to = text;
	for (size_t length; *script; script += length) {
		length = strcspn(script, "\n");
		to = mempcpy(to, script, length);
		if (strncmp(script, step, strlen(step)) == 0)
			to = stpcpy(to, option);
		to = stpcpy(to, "\n");
		length += script[length] == '\n';
	}
	return text;
}

/* A plan expands to the same steps, whether members come from "common" or from the steps' own options. */
static void requested_one_by_one(void **state)
{
	static const char *const scripts[] = {
		BASH "#SBATCH --mem=2G -t 5\n#PBS -N a -l ncpus=2,walltime=1:00\n" STEPS_OF_SIZES,
		BASH "#ROTA --ntasks=8 --nodes=2-4 --group=g --begin=now+1hour --licenses=l:2\n" STEPS_OF_SIZES,
		BASH "#ROTA --array=0-3 --hold --output=h\xc3\xa4/%j --keep=cpus\n#ROTA step a\n#ROTA step b\n#ROTA step c "
		     "--output=o\n",
	};
	(void)state;
	for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++) {
		char *script = with_requests(scripts[i]);
		json_t *one = plan_of(scripts[i], NULL), *other = plan_of(script, NULL);
		assert_true(json_equal(one, other));
		json_decref(one);
		json_decref(other);
		free(script);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(members_once), cmocka_unit_test(ends), cmocka_unit_test(whole),
					   cmocka_unit_test(requested_one_by_one)};
	return cmocka_run_group_tests(tests, utc, NULL);
}
