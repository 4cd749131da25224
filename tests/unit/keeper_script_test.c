/* keeper_script_test.c - cutting the part of one step out of a script, and resource limits. */
#include "tests/unit/unit.h"

#include "lib/script_cut.h"
#include "procmgr/keeper/task_limit.h"

static void cuts(const char *script, int pre_from, int pre_to, int from, int to, const char *expected)
{
	struct order_spec spec = {.pre_from = pre_from, .pre_to = pre_to, .from = from, .to = to};
	size_t length;
	char *cut = script_cut(script, strlen(script), &spec, &length);
	assert_string_equal(cut, expected);
	assert_int_equal(length, strlen(expected));
	free(cut);
}

static void test_cut(void **state)
{
	(void)state;
	static const char script[] = "#!/bin/bash\npre\n#ROTA step a\na1\n#ROTA step b\nb1\nb2\n";
	cuts(script, 2, 2, 3, 4, "#!/bin/bash\npre\n#ROTA step a\na1\n\n\n\n");
	cuts(script, 2, 2, 5, 7, "#!/bin/bash\npre\n\n\n#ROTA step b\nb1\nb2\n");
	cuts(script, 0, 0, 6, 6, "#!/bin/bash\n\n\n\n\nb1\n\n");
	cuts(script, 0, 0, 0, 0, script);
}

static void test_cut_edges(void **state)
{
	(void)state;
	cuts("#!/bin/sh\nlast", 0, 0, 2, 2, "#!/bin/sh\nlast");
	cuts("#!/bin/sh\na\nlast", 0, 0, 2, 2, "#!/bin/sh\na\n");
	cuts("no shebang\na\n", 0, 0, 2, 2, "\na\n");
	cuts("", 0, 0, 1, 1, "");
	cuts("#!/bin/sh\na\n", 0, 0, 5, 9, "#!/bin/sh\n\n");
}

static void test_limits(void **state)
{
	(void)state;
	struct task_limit limits[TASK_LIMIT_MOST];
	int count;
	struct err e;
	assert_true(task_limit_parse("", limits, &count, &e));
	assert_int_equal(count, 0);
	assert_true(task_limit_parse("nofile=1024,core=0,stack=unlimited", limits, &count, &e));
	assert_int_equal(count, 3);
	assert_int_equal(limits[0].resource, RLIMIT_NOFILE);
	assert_int_equal(limits[0].soft, 1024);
	assert_true(limits[2].soft == RLIM_INFINITY);
	static const char *const bad[] = {
		"nofile",  "nofile=", "nofile=x",   "nofile=-1",	"core=0,core=1",
		"speed=1", "=1",      "nofile=1,,", "nofile=1x,core=0", "nofile=99999999999999999999999"};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_false(task_limit_parse(bad[i], limits, &count, &e));
}

static void test_limits_stay_below_the_hard_ones(void **state)
{
	(void)state;
	struct rlimit before, after;
	struct err e;
	const struct task_limit wide = {RLIMIT_NOFILE, RLIM_INFINITY}, narrow = {RLIMIT_NOFILE, 32};
	getrlimit(RLIMIT_NOFILE, &before);
	assert_true(task_limit_apply(&wide, 1, &e));
	getrlimit(RLIMIT_NOFILE, &after);
	assert_true(after.rlim_max == before.rlim_max && after.rlim_cur == before.rlim_max);
	assert_true(task_limit_apply(&narrow, 1, &e));
	getrlimit(RLIMIT_NOFILE, &after);
	assert_true(after.rlim_max == before.rlim_max && after.rlim_cur == 32);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_cut_edges),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_limits_stay_below_the_hard_ones),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
