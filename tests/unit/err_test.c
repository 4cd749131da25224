/* err_test.c - errors: texts, cut-off, hints, and that a new error forgets the old one. */
#include "tests/unit/unit.h"

#include <errno.h>

#include "lib/err.h"

static void test_set(void **state)
{
	(void)state;
	struct err e;
	assert_false(err_set(&e, "node \"%s\" is down", "n1"));
	assert_string_equal(e.message, "node \"n1\" is down");
	assert_string_equal(e.code, "");
	assert_string_equal(e.hint, "");
	assert_false(err_hint(&e, "look at %s", "it"));
	assert_string_equal(e.hint, "look at it");
	strcpy(e.code, "08006");
	assert_false(err_set(&e, "once more: %s", e.message));
	assert_string_equal(e.message, "once more: node \"n1\" is down");
	assert_string_equal(e.hint, "");
	assert_string_equal(e.code, "");
}

static void test_sys(void **state)
{
	(void)state;
	struct err e;
	errno = ENOENT;
	assert_false(err_sys(&e, "could not open \"%s\"", "x"));
	assert_string_equal(e.message, "could not open \"x\": No such file or directory");
	assert_int_equal(errno, ENOENT);
}

static void test_long_text_is_cut(void **state)
{
	(void)state;
	struct err e;
	char text[2048];
	memset(text, 'x', sizeof text - 1);
	text[sizeof text - 1] = '\0';
	err_sys(&e, "%s", text);
	assert_int_equal(strlen(e.message), sizeof e.message - 1);
	err_hint(&e, "%s", text);
	assert_int_equal(strlen(e.hint), sizeof e.hint - 1);
}

static void test_nobody_asks(void **state)
{
	(void)state;
	assert_false(err_set(NULL, "lost"));
	assert_false(err_sys(NULL, "lost"));
	assert_false(err_hint(NULL, "lost"));
}

static void test_allocation(void **state)
{
	(void)state;
	char *text = xasprintf("%d-%s", 7, "a");
	assert_string_equal(text, "7-a");
	char *part = xstrndup(text, 2), *all = xstrndup(text, 99), *copy = xstrdup(text);
	assert_string_equal(part, "7-");
	assert_string_equal(all, "7-a");
	assert_string_equal(copy, "7-a");
	void *nothing = xmalloc(0), *zeros = xcalloc(0, 0);
	assert_non_null(nothing);
	assert_non_null(zeros);
	free(text);
	free(part);
	free(all);
	free(copy);
	free(nothing);
	free(zeros);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_set),	    cmocka_unit_test(test_sys),	       cmocka_unit_test(test_long_text_is_cut),
		cmocka_unit_test(test_nobody_asks), cmocka_unit_test(test_allocation),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
