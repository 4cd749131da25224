/* lead_pace_test.c - how many elements of an array may stand ahead, from how many have ended. */
#include "tests/unit/unit.h"

#include "jobmgr/lead/lead_pace.h"

static const struct lead_launch launch = {.job_id = 7, .request_id = 2};

/* So many of array 2 of job 7 have ended; how many may stand ahead. */
static int ahead(struct lead_pace *pace, int over, double now)
{
	struct schedule_pending pending[] = {{.job = 7, .step = 1}, {.job = 7, .step = 2, .array_size = 9, .array_over = over}};
	struct lead_rows rows = {
		.pending = pending, .launches = &launch, .launch_count = 1, .snapshot = {.pending = pending, .pending_count = 2}};

	lead_pace_read(pace, &rows, now);
	assert_int_equal(pending[0].array_ahead, 0);
	return pending[1].array_ahead;
}

/* 64 end each tenth of a second: as many as in a quarter of one may stand ahead, about. */
static void test_steady(void **state)
{
	struct lead_pace pace = {0};
	int last = 0;

	(void)state;
	assert_int_equal(ahead(&pace, 5000, 10), 0);
	for (int i = 1; i < 50; i++)
		last = ahead(&pace, 5000 + 64 * i, 10 + i / 10.0);
	assert_in_range(last, 160, 180);
}

/* Nothing has ended yet; and what does not end any more counts less and less. */
static void test_long(void **state)
{
	struct lead_pace pace = {0};

	(void)state;
	assert_int_equal(ahead(&pace, 0, 10), 0);
	assert_int_equal(ahead(&pace, 0, 10.1), 0);
	assert_int_equal(ahead(&pace, 64, 10.2), 32);
	assert_int_equal(ahead(&pace, 64, 12.2), 0);
}

/* Of another array nothing is known; nor has one that does not go on anything to stand ahead. */
static void test_other(void **state)
{
	struct lead_pace pace = {.job = 7, .step = 1, .ended = 100, .at = 10};
	struct schedule_pending pending = {.job = 7, .step = 1, .array_size = 9};
	struct lead_rows rows = {.pending = &pending,
				 .launches = &launch,
				 .launch_count = 1,
				 .snapshot = {.pending = &pending, .pending_count = 1}};

	(void)state;
	lead_pace_read(&pace, &rows, 10);
	assert_int_equal(pending.array_ahead, 0);
	assert_int_equal(ahead(&pace, 64, 10), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_steady), cmocka_unit_test(test_long),
					   cmocka_unit_test(test_other)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
