/* pattern_test.c - names of output files. */
#include "tests/unit/unit.h"

#include "lib/pattern.h"

static const struct pattern_facts plain = {
	.job_id = 812,
	.step_id = 3,
	.step_name = "solve",
	.job_name = "heat",
	.user = "ann",
	.array_index = -1,
	.attempt = 2,
	.node = "n7",
	.node_index = 1,
	.task = 5,
};

static void expands(const char *pattern, const struct pattern_facts *facts, const char *expected)
{
	char *text = pattern_expand(pattern, facts);
	assert_string_equal(text, expected);
	free(text);
}

static void test_letters(void **state)
{
	(void)state;
	expands("%j %A %J %s %S %x %u", &plain, "812 812 812.3 3 solve heat ann");
	expands("%N %n %t %r %%", &plain, "n7 1 5 1 %");
	struct pattern_facts element = plain;
	element.array = true;
	element.array_index = 47;
	expands("%a-%b", &element, "47-7");
}

static void test_widths(void **state)
{
	(void)state;
	expands("%4t", &plain, "0005");
	expands("%010j", &plain, "0000000812");
	expands("%99j", &plain, "0000000812");
	expands("%3N", &plain, "n7");
}

static void test_unknown_stays(void **state)
{
	(void)state;
	struct pattern_facts early = plain;
	early.node = NULL;
	early.node_index = early.task = -1;
	early.attempt = 0;
	expands("%N.%n.%4t.%r.%a", &early, "%N.%n.%4t.%r.%a");
	expands("%q%", &plain, "%q%");
	expands("100%", &plain, "100%");
	expands("%12", &plain, "%12");
}

static void test_values_make_no_folders(void **state)
{
	(void)state;
	struct pattern_facts evil = plain;
	evil.job_name = "../../etc/x";
	evil.step_name = "a/b";
	expands("out/%x/%S", &evil, "out/.._.._etc_x/a_b");
}

static void output_is(const char *pattern, const struct pattern_facts *facts, const char *workdir, const char *expected)
{
	char *path = pattern_output(pattern, facts, workdir);
	assert_string_equal(path, expected);
	free(path);
}

static void test_defaults(void **state)
{
	(void)state;
	struct pattern_facts facts = plain;
	facts.attempt = 1;
	output_is("", &facts, "/home/ann", "/home/ann/rota-812.solve.out");
	facts.step_name = "script";
	output_is("", &facts, "/", "/rota-812.out");
	facts.array = true;
	output_is("", &facts, "/w", "/w/rota-812.script.%a.out");
	facts.array_index = 4;
	output_is("", &facts, "/w", "/w/rota-812.script.4.out");
}

static void test_attempts_have_files_of_their_own(void **state)
{
	(void)state;
	struct pattern_facts facts = plain;
	output_is("", &facts, "/w", "/w/rota-812.solve.attempt2.out");
	facts.step_name = "script";
	output_is("", &facts, "/w", "/w/rota-812.attempt2.out");
	facts.array = true;
	facts.array_index = 4;
	facts.attempt = 11;
	output_is("", &facts, "/w", "/w/rota-812.script.4.attempt11.out");
	expands("%x%R.err", &facts, "heat.attempt11.err");
	facts.append = true;
	output_is("", &facts, "/w", "/w/rota-812.script.4.out");
	expands("%x%R.err", &facts, "heat.err");
	facts.append = false;
	facts.attempt = 0;
	output_is("", &facts, "/w", "/w/rota-812.script.4.out");
}

static void test_paths(void **state)
{
	(void)state;
	output_is("/abs/%j", &plain, "/w", "/abs/812");
	output_is("rel/%t", &plain, "/w", "/w/rel/5");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_letters),	      cmocka_unit_test(test_widths),
		cmocka_unit_test(test_unknown_stays), cmocka_unit_test(test_values_make_no_folders),
		cmocka_unit_test(test_defaults),      cmocka_unit_test(test_attempts_have_files_of_their_own),
		cmocka_unit_test(test_paths),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
