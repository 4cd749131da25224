/* agent_keep_test.c - for how long acknowledged journal records are kept. */
#include "tests/unit/unit.h"

#include "procmgr/agent/agent_keep.h"

static const int64_t second = 1000000;

/* Journal records are kept for a minute after their acknowledgement, and may be dropped two minutes after it. */
static void test_time(void **state)
{
	(void)state;
	struct agent_keep k = agent_keep_in(64);
	for (int64_t t = 1; t < 600; t++) {
		int64_t drop_to = agent_keep_until(&k, t * 100, t * second);
		assert_true(drop_to <= (t > 60 ? t - 60 : 0) * 100);
		assert_true(drop_to >= (t > 121 ? t - 121 : 0) * 100);
	}
}

/* The acknowledged records that are kept take no more than a share of the journal, however much the node reports. */
static void test_size(void **state)
{
	(void)state;
	struct agent_keep small = agent_keep_in(1), large = agent_keep_in(1000);
	int64_t acked = 0;
	for (int64_t t = 1; t < 60; t++) {
		acked += 100000;
		assert_true(acked - agent_keep_until(&small, acked, t * second) <= 128 * 1024);
		assert_true(acked - agent_keep_until(&large, acked, t * second) <= 2 * 1024 * 1024);
	}
	assert_true(agent_keep_until(&large, acked, 60 * second) > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_time), cmocka_unit_test(test_size)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
