/* lead_scan_limit_test.c - full scans of the queue take at most a tenth of the time, and always come. */
#include "tests/unit/unit.h"

#include <math.h>

#include "jobmgr/lead/lead_scan_limit.h"

/* A cycle that reads so many rows; see cycle(). */
static bool cycle_with_rows(struct lead_scan_limit *d, double *now, double full_takes, size_t starts, size_t rows)
{
	lead_scan_limit_begin(d, 2000, 0, *now);
	lead_scan_limit_resume(d, *now);
	*now += d->full ? full_takes : 0.001;
	lead_scan_limit_pause(d, *now);
	lead_scan_limit_note_rows(d, rows);
	*now += 0.004; /* the time for reading and committing */
	lead_scan_limit_end(d, starts, *now);
	return d->full;
}

/* A cycle over a long queue: a full scan takes scan_s seconds, and so many steps start. Returns whether the cycle was a full
 * scan. */
static bool cycle(struct lead_scan_limit *d, double *now, double full_takes, size_t starts)
{
	return cycle_with_rows(d, now, full_takes, starts, 2000);
}

/* A queue no longer than its head gets a full scan in each cycle, unless that takes long. */
static void test_short(void **state)
{
	(void)state;
	struct lead_scan_limit d = {0};
	double now = 1000;
	for (int i = 0; i < 10; i++)
		assert_true(cycle_with_rows(&d, &now, 0.05, 0, 3));
	assert_true(cycle_with_rows(&d, &now, 0.3, 0, 3));
	assert_false(cycle_with_rows(&d, &now, 0.3, 0, 3));
}

/* With several partitions the head includes the steps that may have backfill reservations. */
static void test_reserving(void **state)
{
	(void)state;
	struct lead_scan_limit d = {0};
	double now = 1000;
	for (int i = 0; i < 2; i++)
		cycle(&d, &now, 0.5, 10);
	lead_scan_limit_begin(&d, 2000, 0, now);
	int rows = d.rows;
	assert_false(d.full);
	lead_scan_limit_begin(&d, 2000, 100, now);
	assert_int_equal(d.rows, rows + 100);
	lead_scan_limit_begin(&d, 70, 100, now);
	assert_int_equal(d.rows, 70);
}

static void test_share(void **state)
{
	(void)state;
	struct lead_scan_limit d = {0};
	double now = 1000, full = 0;
	int count = 0;
	while (now < 1100) {
		bool was_full = cycle(&d, &now, 0.2, 64);
		full += was_full ? 0.2 : 0;
		count += was_full;
		assert_true(isinf(lead_scan_limit_full_in(&d, now)) == was_full);
		assert_true(was_full || lead_scan_limit_full_in(&d, now) <= 9 * 0.2 + 1e-9);
	}
	assert_true(full <= 0.1 * 100 + 0.2);
	assert_in_range(count, 45, 50);
}

static void test_idle(void **state)
{
	(void)state;
	struct lead_scan_limit d = {0};
	double now = 1000;
	for (int i = 0; i < 10; i++, now += 1)
		assert_true(cycle(&d, &now, 0.05, 0));
	assert_false(cycle(&d, &now, 0.05, 0) && cycle(&d, &now, 0.05, 0));
}

/* The head grows with the number of starts, up to a full scan. */
static void test_rows(void **state)
{
	(void)state;
	struct lead_scan_limit d = {0};
	double now = 1000;
	assert_true(cycle(&d, &now, 1, 0));
	assert_int_equal(d.rows, 2000);
	assert_false(cycle(&d, &now, 1, 0));
	int least = d.rows;
	assert_in_range(least, 1, 200);
	assert_false(cycle(&d, &now, 1, (size_t)least));
	assert_false(cycle(&d, &now, 1, 0));
	assert_true(d.rows > 2 * least);
	assert_false(cycle(&d, &now, 1, 5000));
	assert_false(cycle(&d, &now, 1, 0));
	assert_int_equal(d.rows, 2000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_short), cmocka_unit_test(test_reserving),
					   cmocka_unit_test(test_share), cmocka_unit_test(test_idle),
					   cmocka_unit_test(test_rows)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
