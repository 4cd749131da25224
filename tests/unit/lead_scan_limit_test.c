/* lead_scan_limit_test.c - whole passes take a tenth of the time at most, and are never left out. */
#include "tests/unit/unit.h"

#include <math.h>

#include "jobmgr/lead/lead_scan_limit.h"

/* A pass that finds so many rows; see pass(). */
static bool pass_over(struct lead_scan_limit *d, double *now, double whole_takes, size_t starts, size_t rows)
{
	lead_scan_limit_begin(d, 2000, 0, *now);
	lead_scan_limit_resume(d, *now);
	*now += d->full ? whole_takes : 0.001;
	lead_scan_limit_pause(d, *now);
	lead_scan_limit_note_rows(d, rows);
	*now += 0.004; /* the rest of it */
	lead_scan_limit_end(d, starts, *now);
	return d->full;
}

/* A pass over a long queue that looks for so long and starts so many; whether it was a whole one. */
static bool pass(struct lead_scan_limit *d, double *now, double whole_takes, size_t starts)
{
	return pass_over(d, now, whole_takes, starts, 2000);
}

/* What is no longer than its head is always looked at as a whole, but where even that takes long. */
static void test_short(void **state)
{
	(void)state;
	struct lead_scan_limit d = {0};
	double now = 1000;
	for (int i = 0; i < 10; i++)
		assert_true(pass_over(&d, &now, 0.05, 0, 3));
	assert_true(pass_over(&d, &now, 0.3, 0, 3));
	assert_false(pass_over(&d, &now, 0.3, 0, 3));
}

/* Where partitions stand beside each other, a head has room for those that hold reservations. */
static void test_holders(void **state)
{
	(void)state;
	struct lead_scan_limit d = {0};
	double now = 1000;
	for (int i = 0; i < 2; i++)
		pass(&d, &now, 0.5, 10);
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
	double now = 1000, whole = 0;
	int count = 0;
	while (now < 1100) {
		bool was_whole = pass(&d, &now, 0.2, 64);
		whole += was_whole ? 0.2 : 0;
		count += was_whole;
		assert_true(isinf(lead_scan_limit_full_in(&d, now)) == was_whole);
		assert_true(was_whole || lead_scan_limit_full_in(&d, now) <= 9 * 0.2 + 1e-9);
	}
	assert_true(whole <= 0.1 * 100 + 0.2);
	assert_in_range(count, 45, 50);
}

static void test_idle(void **state)
{
	(void)state;
	struct lead_scan_limit d = {0};
	double now = 1000;
	for (int i = 0; i < 10; i++, now += 1)
		assert_true(pass(&d, &now, 0.05, 0));
	assert_false(pass(&d, &now, 0.05, 0) && pass(&d, &now, 0.05, 0));
}

/* The head grows with what starts, as far as a whole pass looks. */
static void test_rows(void **state)
{
	(void)state;
	struct lead_scan_limit d = {0};
	double now = 1000;
	assert_true(pass(&d, &now, 1, 0));
	assert_int_equal(d.rows, 2000);
	assert_false(pass(&d, &now, 1, 0));
	int least = d.rows;
	assert_in_range(least, 1, 200);
	assert_false(pass(&d, &now, 1, (size_t)least));
	assert_false(pass(&d, &now, 1, 0));
	assert_true(d.rows > 2 * least);
	assert_false(pass(&d, &now, 1, 5000));
	assert_false(pass(&d, &now, 1, 0));
	assert_int_equal(d.rows, 2000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_short), cmocka_unit_test(test_holders),
					   cmocka_unit_test(test_share), cmocka_unit_test(test_idle),
					   cmocka_unit_test(test_rows)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
