/* kind_facts_test.c - facts from programs of the site and facts in credentials: no fact can harm a terminal or the database. */
#include "tests/unit/unit.h"

#include <stdbool.h>

#include "credmgr/kind/kind_facts.h"

static bool read_text(const char *text, struct kind_facts *facts)
{
	struct err e;

	*facts = (struct kind_facts){0};
	return kind_facts_read(text, strlen(text), facts, &e);
}

static void test_round_trip(void **state)
{
	struct kind_facts facts;
	char *text;

	(void)state;
	assert_true(read_text("{\"subject\": \"a@B\", \"expires\": 12, \"renewable\": true, \"renew_until\": 13, \"more\": []}",
			      &facts));
	text = kind_facts_write(&facts);
	assert_string_equal(text, "{\"subject\":\"a@B\",\"expires\":12,\"renewable\":true,\"renew_until\":13}");
	free(text);
	kind_facts_free(&facts);
	assert_true(read_text("{}", &facts));
	text = kind_facts_write(&facts);
	assert_string_equal(text, "{\"subject\":null,\"expires\":null,\"renewable\":false,\"renew_until\":null}");
	free(text);
	assert_true(read_text("{\"subject\": null, \"expires\": null, \"renew_until\": null}", &facts));
}

static void test_wrong(void **state)
{
	static const char *const texts[] = {"",
					    "null",
					    "[]",
					    "{",
					    "\"expires\"",
					    "{\"expires\": \"12\"}",
					    "{\"expires\": 1.5}",
					    "{\"expires\": 0}",
					    "{\"expires\": -1}",
					    "{\"expires\": 253402300800}",
					    "{\"expires\": 99999999999999999999999}",
					    "{\"renew_until\": true}",
					    "{\"renewable\": 1}",
					    "{\"subject\": 7}",
					    "{\"subject\": \"a\\u0000b\"}",
					    "{\"subject\": \"\xff\"}",
					    "{\"expires\": 12, \"expires\": 13}",
					    "{} {}"};
	struct kind_facts facts;

	(void)state;
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		if (read_text(texts[i], &facts))
			fail_msg("%s is accepted", texts[i]);
}

static void test_deep(void **state)
{
	enum { DEPTH = 500000 };
	char *text = malloc(DEPTH + 1);
	struct kind_facts facts;

	(void)state;
	memset(text, '[', DEPTH);
	text[DEPTH] = '\0';
	assert_false(read_text(text, &facts));
	free(text);
}

static void test_subject_is_one_clean_line(void **state)
{
	char text[1000];
	struct kind_facts facts = {0};

	(void)state;
	kind_facts_subject(&facts, "a\x1b[31m\nb\tc\xff\xe2\x80\xae");
	assert_string_equal(facts.subject, "a?[31m b c????");
	memset(text, 'x', sizeof text - 1);
	text[sizeof text - 1] = '\0';
	kind_facts_subject(&facts, text);
	assert_int_equal(strlen(facts.subject), KIND_SUBJECT_MOST);
	kind_facts_free(&facts);
}

static void test_expire_takes_the_earliest(void **state)
{
	struct kind_facts facts = {0};
	struct err e;

	(void)state;
	assert_true(kind_facts_expire(&facts, 200, 100, "it", &e));
	assert_true(kind_facts_expire(&facts, 300, 100, "it", &e));
	assert_int_equal(facts.expires, 200);
	assert_true(kind_facts_expire(&facts, 150, 100, "it", &e));
	assert_int_equal(facts.expires, 150);
	assert_false(kind_facts_expire(&facts, 100, 100, "the ticket", &e));
	assert_string_equal(e.message, "the ticket expired at 1970-01-01 00:01:40 UTC");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_wrong),
		cmocka_unit_test(test_deep),
		cmocka_unit_test(test_subject_is_one_clean_line),
		cmocka_unit_test(test_expire_takes_the_earliest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
