/* lead_rate_test.c - how many elements of an array may be pre-dispatched, by its completion rate. */
#include "tests/unit/unit.h"

#include "jobmgr/lead/lead_rate.h"

static const struct lead_launch launch = {.job_id = 7, .request_id = 2};

/* Report that so many elements of array 2 of job 7 have ended. Returns how many may be pre-dispatched. */
static int predispatch_limit_ahead(struct lead_rate *rate, int ahead_s, int ended, double now, bool *ahead)
{
	struct schedule_pending pending[] = {{.job = 7, .step = 1}, {.job = 7, .step = 2, .array_size = 9, .array_ended = ended}};
	struct lead_rows rows = {
		.pending = pending, .launches = &launch, .launch_count = 1, .snapshot = {.pending = pending, .pending_count = 2}};

	lead_rate_update(rate, &rows, ahead_s, now);
	assert_int_equal(pending[0].array_predispatch, 0);
	*ahead = pending[1].array_ahead;
	return pending[1].array_predispatch;
}

static int predispatch_limit(struct lead_rate *rate, int ended, double now)
{
	bool ahead;
	int limit = predispatch_limit_ahead(rate, 0, ended, now, &ahead);

	assert_false(ahead);
	return limit;
}

/* 64 elements end each tenth of a second: as many may be pre-dispatched as end in about a quarter of a second. */
static void test_steady(void **state)
{
	struct lead_rate rate = {0};
	int last = 0;

	(void)state;
	assert_int_equal(predispatch_limit(&rate, 5000, 10), 0);
	for (int i = 1; i < 50; i++)
		last = predispatch_limit(&rate, 5000 + 64 * i, 10 + i / 10.0);
	assert_in_range(last, 160, 180);
}

/* No element has ended yet: the default. Later, old ends have less and less weight. */
static void test_long(void **state)
{
	struct lead_rate rate = {0};

	(void)state;
	assert_int_equal(predispatch_limit(&rate, 0, 10), 0);
	assert_int_equal(predispatch_limit(&rate, 0, 10.1), 0);
	assert_int_equal(predispatch_limit(&rate, 64, 10.2), 32);
	assert_int_equal(predispatch_limit(&rate, 64, 12.2), 0);
}

/* Another array starts from zero. An array whose launch row was not prefetched gets none. */
static void test_other(void **state)
{
	struct lead_rate rate = {.job = 7, .step = 1, .ended_recently = 100, .at = 10};
	struct schedule_pending pending = {.job = 7, .step = 1, .array_size = 9};
	struct lead_rows rows = {.pending = &pending,
				 .launches = &launch,
				 .launch_count = 1,
				 .snapshot = {.pending = &pending, .pending_count = 1}};

	(void)state;
	lead_rate_update(&rate, &rows, 0, 10);
	assert_int_equal(pending.array_predispatch, 0);
	assert_int_equal(predispatch_limit(&rate, 64, 10), 0);
}

/* Work for 30 seconds: if four elements end every five seconds, about 24, in the bursts and between them. */
static void test_ahead(void **state)
{
	struct lead_rate rate = {0};
	bool ahead;

	(void)state;
	assert_int_equal(predispatch_limit_ahead(&rate, 30, 100, 10, &ahead), 0);
	for (int i = 1; i <= 600; i++) {
		int limit = predispatch_limit_ahead(&rate, 30, 100 + i / 50 * 4, 10 + i / 10.0, &ahead);

		if (i >= 50) {
			assert_in_range(limit, 12, 36);
			assert_true(ahead);
		}
	}
}

/* Ends within the first moment give no rate: the default number is sent. */
static void test_ahead_begin(void **state)
{
	struct lead_rate rate = {0};
	bool ahead;

	(void)state;
	assert_int_equal(predispatch_limit_ahead(&rate, 30, 0, 10, &ahead), 0);
	assert_int_equal(predispatch_limit_ahead(&rate, 30, 64, 10.2, &ahead), 32);
	assert_false(ahead);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_steady), cmocka_unit_test(test_long),
					   cmocka_unit_test(test_other), cmocka_unit_test(test_ahead),
					   cmocka_unit_test(test_ahead_begin)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
