/* staging_script_test.c - symbols in directives for burst_buffer.lua. */
#include "tests/unit/unit.h"

#include <string.h>

#include "runner/staging_script.h"

static json_t *job_info(const char *name, const char *folder)
{
	return json_pack("{s:i, s:s, s:s?, s:s}", "job_id", 812, "user_name", "ann", "name", name, "work_dir", folder);
}

/* Check the directives after replacement of symbols; `expected` NULL: they have no symbols. */
static void check(const char *directives, const char *expected)
{
	json_t *info = job_info("my job", "/home/ann");
	struct err e = {0};
	char *text = staging_script_replace(directives, info, &e);

	assert_string_equal(e.message, "");
	if (expected)
		assert_string_equal(text, expected);
	else
		assert_null(text);
	free(text);
	json_decref(info);
}

static void test_symbols(void **state)
{
	(void)state;
	check("#BB_LUA in=x", NULL);
	check("#BB_LUA in=\\\\x", NULL);
	check("#BB_LUA %j %u %x %d", "#!/bin/sh\n#BB_LUA 812 ann my job /home/ann\n");
	check("#BB_LUA %A %a\n#BB_LUA %%j%j", "#!/bin/sh\n#BB_LUA 0 4294967294\n#BB_LUA %j812\n");
	check("#BB_LUA a%zb%", "#!/bin/sh\n#BB_LUA ab\n"); /* unknown symbols become empty */
}

static void test_symbols_of_elements(void **state)
{
	json_t *info = job_info("x", "/");
	struct err e = {0};
	char *text;

	(void)state;
	json_object_set_new(info, "array_job_id", json_integer(800));
	json_object_set_new(info, "array_task_id", json_integer(7));
	text = staging_script_replace("#BB_LUA %A_%a %j", info, &e);
	assert_string_equal(text, "#!/bin/sh\n#BB_LUA 800_7 812\n");
	free(text);
	json_decref(info);
}

static void test_stop(void **state)
{
	(void)state;
	check("#BB_LUA %j and \\\\%j\n#BB_LUA %u", "#!/bin/sh\n#BB_LUA 812 and \\\\%j\n#BB_LUA %u\n");
	check("\\\\#BB_LUA %j", "#!/bin/sh\n\\\\#BB_LUA %j\n");
	check("#BB_LUA \\%j", "#!/bin/sh\n#BB_LUA \\812\n"); /* one backslash of two is removed */
}

static void test_values_add_no_lines(void **state)
{
	json_t *info = job_info("x\n#BB_LUA evil", "/a\rb");
	struct err e = {0};
	char *text = staging_script_replace("#BB_LUA %x %d", info, &e);

	(void)state;
	assert_string_equal(text, "#!/bin/sh\n#BB_LUA x?#BB_LUA evil /a?b\n");
	free(text);
	json_decref(info);
	info = job_info(NULL, "/");
	text = staging_script_replace("#BB_LUA %x.", info, &e);
	assert_string_equal(text, "#!/bin/sh\n#BB_LUA .\n");
	free(text);
	json_decref(info);
}

static void test_too_long(void **state)
{
	enum { FOLDER = 2000, SYMBOLS = 32000 };
	char folder[FOLDER + 1], directives[2 * SYMBOLS + 1];
	struct err e = {0};
	json_t *info;

	(void)state;
	memset(folder, 'x', FOLDER);
	folder[FOLDER] = '\0';
	for (int i = 0; i < SYMBOLS; i++)
		memcpy(directives + 2 * i, "%d", 3);
	info = job_info("x", folder);
	assert_null(staging_script_replace(directives, info, &e));
	assert_non_null(strstr(e.message, "longer than 1024 KiB"));
	json_decref(info);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_symbols),	 cmocka_unit_test(test_symbols_of_elements),
		cmocka_unit_test(test_stop),	 cmocka_unit_test(test_values_add_no_lines),
		cmocka_unit_test(test_too_long),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
