/* restart_facts_test.c - tests the version of DMTCP among the properties of a node that process images need. */
#include "tests/unit/unit.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "procmgr/record/restart_facts.h"

static char dir[] = "/tmp/rota-facts-test.XXXXXX";
static char program[sizeof dir + 16];

static int setup_group(void **state)
{
	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(program, sizeof program, "%s/dmtcp_launch", dir);
	return 0;
}

static int teardown_group(void **state)
{
	(void)state;
	unlink(program);
	return rmdir(dir);
}

/* Returns the facts of a node on which dmtcp_launch is this script. */
static json_t *facts_of(const char *script)
{
	FILE *file = fopen(program, "w");
	assert_non_null(file);
	fprintf(file, "#!/bin/sh\n%s\n", script);
	fclose(file);
	assert_int_equal(chmod(program, 0700), 0);
	return restart_facts(dir, "");
}

static void version_is_said(void **state)
{
	(void)state;
	json_t *facts = facts_of("echo dmtcp 5.0; echo more");
	assert_string_equal(json_string_value(json_object_get(facts, "dmtcp")), "dmtcp 5.0");
	assert_null(restart_facts_lacking(facts, dir, ""));
	assert_string_equal(restart_facts_lacking(facts, dir, dir), "criu");
	json_decref(facts);
}

/* An empty version of DMTCP would match no process image, and images saved on this node would then need an empty version. */
static void version_is_left_out(void **state)
{
	(void)state;
	static const char *const scripts[] = {"exit 0", "echo dmtcp 5.0; exit 1", "kill -9 $$"};
	for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++) {
		json_t *facts = facts_of(scripts[i]);
		assert_null(json_object_get(facts, "dmtcp"));
		assert_non_null(json_object_get(facts, "kernel"));
		assert_string_equal(restart_facts_lacking(facts, dir, ""), "dmtcp_launch");
		json_decref(facts);
	}
}

static void nothing_is_needed_without_it(void **state)
{
	(void)state;
	json_t *facts = restart_facts("", "");
	assert_int_equal(json_object_size(facts), 0);
	assert_null(restart_facts_lacking(facts, "", ""));
	json_decref(facts);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(version_is_said),
		cmocka_unit_test(version_is_left_out),
		cmocka_unit_test(nothing_is_needed_without_it),
	};
	return cmocka_run_group_tests(tests, setup_group, teardown_group);
}
