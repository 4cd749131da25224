/* db_test.c - what of the database connection needs no database: array literals and connection strings. */
#include "tests/unit/unit.h"

#include "lib/db.h"

static void test_array_ints(void **state)
{
	(void)state;
	struct db_array *a = db_array_new();
	assert_string_equal(db_array_literal(a), "{}");
	db_array_int(a, 1);
	assert_string_equal(db_array_literal(a), "{1}");
	db_array_int(a, -5);
	db_array_int(a, INT64_MIN);
	assert_string_equal(db_array_literal(a), "{1,-5,-9223372036854775808}");
	assert_string_equal(db_array_literal(a), "{1,-5,-9223372036854775808}");
	db_array_free(a);
	db_array_free(NULL);
}

static void test_array_texts(void **state)
{
	(void)state;
	struct db_array *a = db_array_new();
	db_array_text(a, "a b");
	db_array_text(a, "");
	db_array_text(a, NULL);
	db_array_text(a, "NULL");
	db_array_text(a, "q\"u\\o,t}e{\n");
	assert_string_equal(db_array_literal(a), "{\"a b\",\"\",NULL,\"NULL\",\"q\\\"u\\\\o,t}e{\n\"}");
	db_array_free(a);
}

static void test_array_bytes(void **state)
{
	(void)state;
	struct db_array *a = db_array_new();
	db_array_bytes(a, "\0\xff\\", 3);
	db_array_bytes(a, "", 0);
	assert_string_equal(db_array_literal(a), "{\"\\\\x00ff5c\",\"\\\\x\"}");
	db_array_free(a);
}

static void test_array_grows(void **state)
{
	(void)state;
	struct db_array *a = db_array_new();
	for (int i = 0; i < 10000; i++) {
		db_array_int(a, i);
		if (i % 100 == 0)
			assert_int_equal(db_array_literal(a)[0], '{');
	}
	const char *text = db_array_literal(a);
	size_t length = strlen(text);
	assert_int_equal(length, 2 + 9999 + 10 + 90 * 2 + 900 * 3 + 9000 * 4);
	assert_string_equal(text + length - 6, ",9999}");
	db_array_free(a);
}

/* The value of a keyword in what db_conninfo makes, as libpq reads it. */
static void expect(const char *conninfo, const char *keyword, const char *value)
{
	struct conf conf = {.database_conninfo = (char *)(uintptr_t)conninfo};
	char *text = db_conninfo(&conf, "rota_jobmgr", "jobmgrd [it's]");
	char *message = NULL;
	PQconninfoOption *options = PQconninfoParse(text, &message);
	if (!options)
		fail_msg("%s: %s", text, message);
	for (PQconninfoOption *o = options; o->keyword; o++)
		if (strcmp(o->keyword, keyword) == 0) {
			assert_non_null(o->val);
			assert_string_equal(o->val, value);
		}
	PQconninfoFree(options);
	free(text);
}

static void test_conninfo(void **state)
{
	(void)state;
	expect("dbname=rota", "dbname", "rota");
	expect("dbname=rota", "user", "rota_jobmgr");
	expect("dbname=rota user=root application_name=x", "user", "rota_jobmgr");
	expect("dbname=rota user=root application_name=x", "application_name", "jobmgrd [it's]");
	expect("", "user", "rota_jobmgr");
	expect("host='/tmp/a b' password='p\\'q\\\\r'", "host", "/tmp/a b");
	expect("host='/tmp/a b' password='p\\'q\\\\r'", "password", "p'q\\r");
	expect("postgresql://root@db.example:5433/rota?sslmode=verify-full", "host", "db.example");
	expect("postgresql://root@db.example:5433/rota?sslmode=verify-full", "user", "rota_jobmgr");
	expect("postgresql://root@db.example:5433/rota?sslmode=verify-full", "sslmode", "verify-full");
}

static void test_unreadable_conninfo_is_handed_on(void **state)
{
	(void)state;
	struct conf conf = {.database_conninfo = (char[]){"nonsense"}};
	char *text = db_conninfo(&conf, "rota_node", "procmgrd");
	assert_string_equal(text, "nonsense");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_array_ints),  cmocka_unit_test(test_array_texts),
		cmocka_unit_test(test_array_bytes), cmocka_unit_test(test_array_grows),
		cmocka_unit_test(test_conninfo),    cmocka_unit_test(test_unreadable_conninfo_is_handed_on),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
