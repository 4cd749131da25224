/* fields_test.c - the field format: written fields read back the same, and no content has a second spelling. */
#include "tests/unit/unit.h"

#include "lib/fields.h"

static void test_write(void **state)
{
	(void)state;
	struct fields *f = fields_new();
	size_t length;
	assert_string_equal(fields_text(f, &length), "");
	assert_int_equal(length, 0);
	fields_add(f, "name", "a=1\nb:2");
	fields_add(f, "empty", "");
	fields_add_int(f, "low", INT64_MIN);
	assert_string_equal(fields_text(f, &length), "name=7:a=1\nb:2\nempty=0:\nlow=20:-9223372036854775808\n");
	assert_int_equal(length, strlen(fields_text(f, NULL)));
	fields_free(f);
}

static void test_round_trip(void **state)
{
	(void)state;
	struct fields *f = fields_new();
	char name[16];
	for (int i = 0; i < 200; i++) {
		snprintf(name, sizeof name, "n%d", i);
		fields_add_int(f, name, i * 1000003LL);
	}
	const char *first = fields_get(f, "n0");
	fields_add(f, "spec", fields_text(f, NULL)); /* fields within a field */
	assert_ptr_equal(first, fields_get(f, "n0"));
	size_t length, again;
	const char *text = fields_text(f, &length);
	struct err e;
	struct fields *g = fields_parse(text, length, &e);
	assert_non_null(g);
	assert_memory_equal(fields_text(g, &again), text, length + 1);
	assert_int_equal(again, length);
	assert_int_equal(fields_count(g), 201);
	for (int i = 0; i < fields_count(g); i++) {
		assert_string_equal(fields_name(g, i), fields_name(f, i));
		assert_string_equal(fields_value(g, i), fields_value(f, i));
	}
	fields_free(f);
	fields_free(g);
}

static void test_parse_refuses(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		size_t length; /* 0: strlen */
	} bad[] = {
		{"a=1:x", 0},		/* no newline */
		{"a=1:xy\n", 0},	/* too short a length */
		{"a=3:xy\n", 0},	/* too long a length */
		{"a=2:xy\nb", 0},	/* bytes after the last field */
		{"a=2:xy\n\n", 0},	/* an empty field */
		{"a=02:xy\n", 0},	/* leading zero */
		{"a=00:\n", 0},		/* leading zero */
		{"a=:xy\n", 0},		/* no length */
		{"a=+2:xy\n", 0},	/* sign */
		{"a=-2:xy\n", 0},	/* sign */
		{"a= 2:xy\n", 0},	/* blank */
		{"a=2 :xy\n", 0},	/* blank */
		{"a=2xy\n", 0},		/* no colon */
		{"=2:xy\n", 0},		/* no name */
		{"A=2:xy\n", 0},	/* upper case */
		{"a-b=2:xy\n", 0},	/* bad character */
		{" a=2:xy\n", 0},	/* blank before */
		{"a=2:xy\na=1:z\n", 0}, /* twice */
		{"a=3:x\0y\n", 8},	/* NUL in a value */
		{"a\0=1:x\n", 7},	/* NUL in a name */
		{"a=99999999999999999999999999:x\n", 0},
		{"a=18446744073709551617:x\n", 0},
		{"a", 0},
		{"a=", 0},
		{"a=1", 0},
		{"a=1:", 0},
		{"\n", 0},
		{"abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijkl=1:x\n", 0},
	};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct err e = {0};
		size_t length = bad[i].length ? bad[i].length : strlen(bad[i].text);
		struct fields *f = fields_parse(bad[i].text, length, &e);
		if (f || !*e.message)
			fail_msg("case %zu was accepted: %s", i, bad[i].text);
	}
}

static void test_share(void **state)
{
	(void)state;
	struct fields *f = fields_new();
	fields_add(f, "kind", "run");
	struct fields *second = fields_share(f), *third = fields_share(second);
	fields_free(f);
	fields_free(third);
	assert_string_equal(fields_get(second, "kind"), "run");
	fields_free(second); /* the sanitizer reports whether that was the last reference */
}

static void test_too_many(void **state)
{
	(void)state;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	for (int i = 0; i < 1025; i++)
		fprintf(out, "n%d=1:x\n", i);
	fclose(out);
	struct err e;
	assert_null(fields_parse(text, size, &e));
	struct fields *f = fields_parse(text, size - strlen("n1024=1:x\n"), &e);
	assert_non_null(f);
	fields_free(f);
	free(text);
}

static void test_ints(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		bool good;
		int64_t value;
	} cases[] = {
		{"0", true, 0},
		{"-1", true, -1},
		{"9223372036854775807", true, INT64_MAX},
		{"-9223372036854775808", true, INT64_MIN},
		{"9223372036854775808", false, 0},
		{"-9223372036854775809", false, 0},
		{"", false, 0},
		{"-", false, 0},
		{"-0", false, 0},
		{"01", false, 0},
		{"+1", false, 0},
		{" 1", false, 0},
		{"1 ", false, 0},
		{"1.0", false, 0},
		{"0x1", false, 0},
		{"one", false, 0},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct fields *f = fields_new();
		struct err e;
		int64_t value = 4711;
		fields_add(f, "n", cases[i].text);
		assert_int_equal(fields_int(f, "n", INT64_MIN, INT64_MAX, &value, &e), cases[i].good);
		assert_int_equal(value, cases[i].good ? cases[i].value : 4711);
		fields_free(f);
	}
}

static void test_int_bounds(void **state)
{
	(void)state;
	struct fields *f = fields_new();
	struct err e;
	int64_t value;
	fields_add_int(f, "n", 7);
	assert_true(fields_int(f, "n", 7, 7, &value, &e));
	assert_false(fields_int(f, "n", 8, 9, &value, &e));
	assert_string_equal(e.message, "field \"n\" is 7, not within 8 to 9");
	assert_false(fields_int(f, "m", 0, 9, &value, &e));
	assert_string_equal(e.message, "field \"m\" is missing");
	assert_true(fields_int_or(f, "m", 0, 9, 5, &value, &e));
	assert_int_equal(value, 5);
	assert_false(fields_int_or(f, "n", 0, 6, 5, &value, &e));
	fields_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_write),	   cmocka_unit_test(test_round_trip), cmocka_unit_test(test_parse_refuses),
		cmocka_unit_test(test_share),	   cmocka_unit_test(test_too_many),   cmocka_unit_test(test_ints),
		cmocka_unit_test(test_int_bounds),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
