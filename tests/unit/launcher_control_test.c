/* launcher_control_test.c - control messages that the launcher passes on to keepers. */
#include "tests/unit/unit.h"

#include "procmgr/launcher/launcher_parts.h"

#define KEY "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

/* Check that a message has these fields: name, value, name, value, ..., NULL. */
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
	assert_null(fields_get(control, "key"));
	fields_free(control);
	control = check("action", "agent", "host", "node1.example", "port", "7000", "key", KEY, NULL);
	assert_string_equal(fields_get(control, "host"), "node1.example");
	assert_string_equal(fields_get(control, "port"), "7000");
	assert_string_equal(fields_get(control, "key"), KEY);
	fields_free(control);
	control = check("action", "node", "name", "n2", "state", "drained", "reason", "bad disk", NULL);
	assert_string_equal(fields_get(control, "name"), "n2");
	assert_string_equal(fields_get(control, "state"), "drained");
	assert_string_equal(fields_get(control, "reason"), "bad disk");
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
	assert_null(check("action", "agent", "host", "n1", "port", "7000", NULL));
	assert_null(check("action", "agent", "host", "n1", "port", "0", "key", KEY, NULL));
	assert_null(check("action", "agent", "host", "n1", "port", "65536", "key", KEY, NULL));
	assert_null(check("action", "agent", "host", "n1 n2", "port", "7000", "key", KEY, NULL));
	assert_null(check("action", "agent", "host", "n1", "port", "7000", "key", KEY "0", NULL));
	assert_null(check("action", "node", "name", "n2", "state", "drained", NULL));
	assert_null(check("action", "node", "name", "", "state", "up", "reason", "", NULL));
	assert_null(check("action", "node", "name", "n2 lost", "state", "up", "reason", "", NULL));
	assert_null(check("action", "node", "name", "n2", "state", "up lost", "reason", "", NULL));
	assert_null(check("action", "node", "name", "n2", "state", "drained", "reason", "disk\nn3 lost", NULL));
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
