/* launcher_control_test.c - what the launcher passes on to keepers. */
#include "tests/unit/unit.h"

#include "procmgr/launcher/launcher_parts.h"

/* Check a message of name, value, name, value, ..., NULL. */
static struct fields *check(const char *name, ...)
{
	va_list args;
	struct err e;
	struct fields *message = fields_new();
	va_start(args, name);
	for (; name; name = va_arg(args, const char *))
		fields_add(message, name, va_arg(args, const char *));
	va_end(args);
	struct fields *control = launcher_control_check(message, &e);
	fields_free(message);
	return control;
}

static void test_good(void **state)
{
	(void)state;
	struct fields *control = check("action", "kill", "cause", "time_limit", "epilog", "0", "order", "junk", NULL);
	assert_string_equal(fields_get(control, "action"), "kill");
	assert_string_equal(fields_get(control, "cause"), "time_limit");
	assert_null(fields_get(control, "epilog"));
	assert_null(fields_get(control, "order"));
	fields_free(control);
	control = check("action", "signal", "signal", "10", NULL);
	assert_string_equal(fields_get(control, "signal"), "10");
	fields_free(control);
	control = check("action", "limit", "limit", "90", NULL);
	assert_string_equal(fields_get(control, "limit"), "90");
	fields_free(control);
}

static void test_bad(void **state)
{
	(void)state;
	assert_null(check(NULL));
	assert_null(check("action", "reboot", NULL));
	assert_null(check("action", "signal", NULL));
	assert_null(check("action", "signal", "signal", "65", NULL));
	assert_null(check("action", "signal", "signal", "-1", NULL));
	assert_null(check("action", "signal", "signal", "ten", NULL));
	assert_null(check("action", "kill", "cause", "../../x", NULL));
	assert_null(check("action", "kill", "cause", "a_cause_that_is_longer_than_any_of_ours", NULL));
	assert_null(check("action", "limit", "limit", "-1", NULL));
	assert_null(check("action", "limit", "limit", "9223372036854775807", NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good),
		cmocka_unit_test(test_bad),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
