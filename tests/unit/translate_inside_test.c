/* translate_inside_test.c - options that are refused in a script whose steps run as sub-steps of an allocation. */
#include "tests/unit/translate_case.h"

static json_t *inside(const char *script, struct translate_problems *problems)
{
	struct translate_request q = request_of(script, strlen(script), NULL);
	q.inside = true;
	memset(problems, 0, sizeof *problems);
	return translate_script(&q, &translate_limits_default, problems);
}

static void refuse(const char *script, int count, const struct refusal *expected)
{
	struct translate_problems problems;
	json_t *plan = inside(script, &problems);
	if (plan)
		fail_msg("passed:\n%s", script);
	assert_int_equal(problems.count, count);
	for (int i = 0; i < count; i++)
		if (!refuses(&problems, &expected[i]))
			fail_msg("no \"%d: %s: %s\" of\n%s", expected[i].line, expected[i].option, expected[i].message, script);
	translate_problems_free(&problems);
}

#define AT(line, option, message) LINE("", line, option, message, NULL)

static void test_options(void **state)
{
	(void)state;
	refuse(BASH "#ROTA --account=a --partition=p\n#SBATCH --qos=q\n#ROTA step a --licenses=x\n#ROTA step b --constraint=fast "
		    "--mem-per-cpu=10\n",
	       6,
	       (const struct refusal[]){
		       AT(2, "--account", "cannot have this option"), AT(2, "--partition", "cannot have this option"),
		       AT(3, "--qos", "cannot have this option"), AT(4, "--licenses", "cannot have this option"),
		       AT(5, "--constraint", "cannot have this option"), AT(5, "--mem-per-cpu", "cannot have this option")});
	refuse(BASH "#ROTA step a --with=b\n#ROTA step b --mem=0 --shell=login\n", 3,
	       (const struct refusal[]){AT(2, "--with", "cannot have this option"), AT(3, "--mem", "all memory"),
					AT(3, "--shell", "no login shell")});
}

static void test_peers(void **state)
{
	(void)state;
	refuse(BASH "#ROTA step a --after=812\n#ROTA step b --dependency=singleton\n#ROTA step c --after=x\n", 3,
	       (const struct refusal[]){AT(2, "--after", "only for steps of its file"),
					AT(3, "--dependency", "only for steps of its file"), AT(4, "--after", "unknown step")});
}

static void test_sizes(void **state)
{
	(void)state;
	refuse(BASH "#ROTA step a --nodes=2\n#ROTA step b --nodes=1-3 --run=tasks\n", 2,
	       (const struct refusal[]){AT(2, "--nodes", "runs once"), AT(3, "--nodes", "fixed number")});
}

static void test_passes(void **state)
{
	(void)state;
	struct translate_problems problems;
	json_t *plan = inside(
		BASH "#ROTA --priority=5 --export=NONE --time=5\n#ROTA step a --nodes=2 --run=tasks --gres=gpu:1 --retry=2\n"
		     "#ROTA step b --array=1-3%2 --after=a:any --mem=1G --output=x.%a --exclusive\n#ROTA step script\n",
		&problems);
	assert_int_equal(problems.count, 0);
	translate_plan_whole(plan);
	char *output = value_at(plan, "2:output"); /* output without a file goes to the client, whatever the name of the step */
	assert_string_equal(output, "");
	free(output);
	json_decref(plan);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_options),
		cmocka_unit_test(test_peers),
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_passes),
	};
	return cmocka_run_group_tests(tests, utc, NULL);
}
