/* agent_clock_test.c - how a node estimates the clock of the database. */
#include "tests/unit/unit.h"

#include "procmgr/agent/agent_clock.h"

/* Time of the database when the clock of the node was 0. */
static const int64_t boot = 1000000000;

/* The database answers a call `after` it was sent, in microseconds, and the answer is read `took` after the call was sent. */
static void answer(struct agent_clock *c, int64_t sent, int64_t after, int64_t took, int64_t boot_us)
{
	agent_clock_compare(c, sent, sent + took, boot_us + sent + after);
}

/* A slow call does not change the estimate. A faster one improves it. */
static void test_slow(void **state)
{
	(void)state;
	struct agent_clock c = {0};
	answer(&c, 1000, 500, 2500, boot);
	assert_int_equal(c.boot_us, boot - 2000);
	answer(&c, 5000, 100, 300, boot);
	assert_int_equal(c.boot_us, boot - 200);
	answer(&c, 10000, 900000, 950000, boot);
	answer(&c, 20000, 0, 900000, boot);
	assert_int_equal(c.boot_us, boot - 200);
}

/* The estimate follows a database clock that is set or drifts, in both directions. */
static void test_set(void **state)
{
	(void)state;
	struct agent_clock c = {0};
	answer(&c, 1000, 100, 200, boot);
	answer(&c, 2000, 100, 200, boot + 3600000000);
	assert_int_equal(c.boot_us, boot + 3600000000 - 100);
	answer(&c, 3000, 100, 200, boot);
	assert_int_equal(c.boot_us, boot - 100);
	for (int i = 0; i < 1000; i++) {
		answer(&c, 4000 + i * 1000, 100, 200, boot - i);
		assert_in_range(boot - i + 200 - c.boot_us, 100, 300);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_slow), cmocka_unit_test(test_set)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
