/* lead_pace_test.c - how many elements of an array may stand ahead, from what snapshots show of its ends. */
#include "tests/unit/unit.h"

#include "jobmgr/lead/lead_pace.h"

enum { MOST = 1000 };

static struct schedule_running running[MOST];

/* A snapshot in which so many elements of job 7's array run; answers how many may stand ahead. */
static int ahead(struct lead_pace *pace, size_t there, double now)
{
	struct schedule_pending pending[] = {{.job = 6}, {.job = 7, .step = 2, .array_size = 9}};
	struct lead_rows rows = {
		.pending = pending,
		.snapshot = {.running = running, .running_count = there + 1, .pending = pending, .pending_count = 2}};

	running[0] = (struct schedule_running){.job = 7, .request = 1};
	for (size_t i = 1; i <= there; i++)
		running[i] = (struct schedule_running){.job = 7, .request = 2};
	lead_pace_read(pace, &rows, now);
	assert_int_equal(pending[0].array_ahead, 0);
	return pending[1].array_ahead;
}

static void start(struct lead_pace *pace, size_t count)
{
	static const struct schedule_start other = {.job = 7, .step = 1};
	struct schedule_start starts[MOST];

	starts[0] = other;
	for (size_t i = 1; i <= count; i++)
		starts[i] = (struct schedule_start){.job = 7, .step = 2};
	lead_pace_decided(pace, &(struct schedule_result){.starts = starts, .start_count = count + 1});
}

/* 64 end each tenth of a second, and as many start: as many as end in a quarter of a second may stand ahead, about. */
static void test_steady(void **state)
{
	struct lead_pace pace = {0};
	int last = 0;

	(void)state;
	assert_int_equal(ahead(&pace, 0, 10), 0);
	for (int i = 1; i < 50; i++) {
		start(&pace, 64);
		last = ahead(&pace, 0, 10 + i / 10.0);
	}
	assert_in_range(last, 160, 180);
}

/* What has only started has not ended; and what does not end any more counts less and less. */
static void test_long(void **state)
{
	struct lead_pace pace = {0};

	(void)state;
	assert_int_equal(ahead(&pace, 0, 10), 0);
	start(&pace, 64);
	assert_int_equal(ahead(&pace, 64, 10.1), 0);
	assert_int_equal(ahead(&pace, 0, 10.2), 32);
	start(&pace, 64);
	assert_int_equal(ahead(&pace, 64, 12.2), 0);
}

/* Of what was decided and not committed nothing is believed to have ended; nor of another array. */
static void test_forget(void **state)
{
	struct lead_pace pace = {0};

	(void)state;
	assert_int_equal(ahead(&pace, 0, 10), 0);
	start(&pace, 64);
	lead_pace_forget(&pace);
	assert_int_equal(ahead(&pace, 0, 10.1), 0);
	start(&pace, 64);
	pace.step = 5;
	assert_int_equal(ahead(&pace, 0, 10.2), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_steady), cmocka_unit_test(test_long),
					   cmocka_unit_test(test_forget)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
