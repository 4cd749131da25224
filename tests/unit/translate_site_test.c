/* translate_site_test.c - changes by the site's script: they count as options, take precedence over the user's, and are refused
 * by field; and the fields that the script reads of a request. */
#include "tests/unit/translate_case.h"

static json_t *changed(const char *script, const char *const *options, const struct translate_change *changes, int count,
		       struct translate_problems *problems)
{
	struct translate_request q = request_of(script, strlen(script), options);
	json_t *plan;
	memset(problems, 0, sizeof *problems);
	q.changes = changes;
	q.change_count = count;
	plan = translate_script(&q, &translate_limits_default, problems);
	if (plan)
		translate_plan_whole(plan);
	return plan;
}

/* The value at a path of the plan of a script with one change. */
static void check_change(const char *script, const char *option, const char *value, const char *path, const char *expected)
{
	const struct translate_change change = {"field", option, value};
	struct translate_problems problems;
	json_t *plan = changed(script, (const char *const[]){"--time=5", NULL}, &change, 1, &problems);
	if (!plan)
		fail_msg("%s: %s", problems.list[0].option, problems.list[0].message);
	char *found = value_at(plan, path);
	assert_string_equal(found, expected);
	free(found);
	json_decref(plan);
}

static void displaces_every_setting(void **state)
{
	(void)state;
	check_change(BASH "true\n", "time", "7", "steps/0/time_limit_s", "420");
	check_change(BASH "true\n", "time", NULL, "steps/0/time_limit_s", "null");
	check_change(BASH "#SBATCH -p a\n", "partition", "b", "steps/0/partition", "\"b\"");
	check_change(BASH "#SBATCH -p a\n", "partition", NULL, "steps/0/partition", "null");
	check_change(BASH "#PBS -q a\n", "partition", NULL, "steps/0/partition", "null");
	check_change(BASH "#ROTA step one -p a\n", "partition", "b", "steps/0/partition", "\"b\"");
	check_change(BASH "#ROTA step one -p a\n", "partition", NULL, "steps/0/partition", "null");
	check_change(BASH "#ROTA --mem-per-cpu=3\n", "mem", "9", "steps/0/mem_mb", "9");
	check_change(BASH "#ROTA --mem-per-cpu=3\n", "mem", "9", "steps/0/mem_per_cpu_mb", "null");
	check_change(BASH "#ROTA --mem-per-cpu=3\n", "mem", NULL, "steps/0/mem_per_cpu_mb", "null");
	check_change(BASH "#ROTA --gpus-per-node=3\n", "gres", "fpga:1", "steps/0/gres", "{\"fpga\":1}");
	check_change(BASH "#ROTA -d 7\n", "dependency", "afterok:8", "edges/0/peer_job", "8");
	check_change(BASH "#ROTA -d 7\n", "dependency", NULL, "edges", "[]");
	check_change(BASH "#ROTA --no-requeue\n", "requeue", "yes", "steps/0/requeue", "true");
	check_change(BASH "true\n", "account", "x", "job/account", "\"x\"");
}

/* In a script of several steps, the job's options are changed, and options on step lines stay. */
static void leaves_lines_of_steps(void **state)
{
	static const char script[] = BASH "#ROTA -p a\n#ROTA step one\n#ROTA step two -p c\n";
	(void)state;
	check_change(script, "partition", "b", "steps/0/partition", "\"b\"");
	check_change(script, "partition", "b", "steps/1/partition", "\"c\"");
}

static void check_refused(const char *script, const char *option, const char *value, const char *message)
{
	const struct translate_change change = {"time_limit", option, value};
	struct translate_problems problems;
	assert_null(changed(script, NULL, &change, 1, &problems));
	assert_int_equal(problems.count, 1);
	assert_int_equal(problems.list[0].line, 0);
	assert_int_equal(strcmp(problems.list[0].option + 2, option), 0);
	if (!strstr(problems.list[0].message, message) || !strstr(problems.list[0].message, "site's script (time_limit)"))
		fail_msg("says: %s", problems.list[0].message);
	translate_problems_free(&problems);
}

static void names_the_field(void **state)
{
	(void)state;
	check_refused(BASH "true\n", "time", "-7", "-7");
	check_refused(BASH "true\n", "time", "1\n--account=root", "is not a duration");
	check_refused(BASH "true\n", "comment", "a\nb", "control");
	check_refused(BASH "true\n", "partition", "a b", "is not a name");
	check_refused(BASH "true\n", "dependency", "afterok:x", "x");
}

/* A problem of the script keeps its line. */
static void keeps_lines_of_the_script(void **state)
{
	const struct translate_change change = {"time_limit", "time", "5"};
	struct translate_problems problems;
	(void)state;
	assert_null(changed(BASH "#ROTA step a\n#ROTA step b --tme=3\n", NULL, &change, 1, &problems));
	assert_int_equal(problems.count, 1);
	assert_int_equal(problems.list[0].line, 3);
	translate_problems_free(&problems);
}

static void describes_what_counts(void **state)
{
	static const char script[] = BASH "#SBATCH -p a --mem=4G\n#PBS -l walltime=1:00\n";
	static const char *const options[] = {"--partition=b", "-N2", NULL};
	struct translate_problems problems = {0};
	struct translate_request q = request_of(script, strlen(script), options);
	json_t *described = translate_describe(&q, &translate_limits_default, &problems);
	char *text = json_dumps(described, JSON_COMPACT | JSON_SORT_KEYS);
	(void)state;
	assert_string_equal(
		text,
		"{\"name\":\"heat.sh\",\"options\":{\"mem\":4096,\"nodes\":[2,2],\"partition\":\"b\",\"time\":60},\"steps\":[]}");
	free(text);
	json_decref(described);
}

static void describes_steps(void **state)
{
	static const char script[] = BASH "#ROTA -p a\n#ROTA step one -t 5\n#ROTA step two\n";
	struct translate_problems problems = {0};
	struct translate_request q = request_of(script, strlen(script), NULL);
	json_t *described = translate_describe(&q, &translate_limits_default, &problems);
	char *text = json_dumps(described, JSON_COMPACT | JSON_SORT_KEYS);
	(void)state;
	assert_string_equal(text,
			    "{\"name\":\"heat.sh\",\"options\":{\"partition\":\"a\"},\"steps\":[{\"line\":3,\"name\":\"one\","
			    "\"options\":{\"time\":300}},{\"line\":4,\"name\":\"two\",\"options\":{}}]}");
	free(text);
	json_decref(described);
}

static void describes_nothing_wrong(void **state)
{
	static const char script[] = BASH "#ROTA --tme=3\n";
	struct translate_problems problems = {0};
	struct translate_request q = request_of(script, strlen(script), NULL);
	(void)state;
	assert_null(translate_describe(&q, &translate_limits_default, &problems));
	assert_int_equal(problems.count, 1);
	translate_problems_free(&problems);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(displaces_every_setting), cmocka_unit_test(leaves_lines_of_steps),
		cmocka_unit_test(names_the_field),	   cmocka_unit_test(keeps_lines_of_the_script),
		cmocka_unit_test(describes_what_counts),   cmocka_unit_test(describes_steps),
		cmocka_unit_test(describes_nothing_wrong),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
