/* nearest_test.c - the word that a misspelt one means: letters wrong, missing, superfluous or swapped; a prefix; words with no
 * near one. */
#include <string.h>

#include "lib/nearest.h"
#include "tests/unit/unit.h"

static const char *const words[] = {"submit", "queue", "show", "suspend", "partitions", "log", NULL};

static void test_near(void **state)
{
	(void)state;
	static const struct {
		const char *word, *meant;
	} cases[] = {
		{"sumbit", "submit"}, {"qeue", "queue"}, {"queues", "queue"}, {"sohw", "show"},	   {"part", "partitions"},
		{"su", "submit"},     {"lg", "log"},	 {"show", "show"},    {"sumit", "submit"}, {"shop", "show"},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		assert_string_equal(nearest_of(cases[i].word, words), cases[i].meant);
}

static void test_far(void **state)
{
	(void)state;
	static const char *const cases[] = {"frobnicate", "x", "", "qu3u3", "shwoo", "sbmtt1"};
	char longer[200];
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		assert_null(nearest_of(cases[i], words));
	memset(longer, 's', sizeof longer - 1);
	longer[sizeof longer - 1] = '\0';
	assert_null(nearest_of(longer, words));
	assert_null(nearest_of("queue", (const char *const[]){longer, NULL}));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_near),
		cmocka_unit_test(test_far),
	};
	return cmocka_run_group_tests_name("nearest", tests, NULL, NULL);
}
