/* watch_test.c - how long the database's clock has run steadily: since the first reading, or since it was last set forward. */
#include "tests/unit/unit.h"

#include "nodemgr/watch.h"

enum { SECOND = 1000000 };
static const int64_t epoch = 1800000000LL * SECOND; /* the database's clock when the own monotonic clock is 0 */

static void test_steady(void **state)
{
	(void)state;
	struct watch w = {0};
	assert_int_equal(watch_seconds(&w, 100 * SECOND), 0);
	assert_true(watch_read(&w, epoch + 100 * SECOND, 100 * SECOND, 101 * SECOND));
	assert_int_equal(watch_seconds(&w, 101 * SECOND), 0);
	for (int64_t now = 105 * SECOND; now < 200 * SECOND; now += 5 * SECOND) {
		/* A call to judge leases uses the latest time that the clock may have when the call is sent, even if it is
		 * received much later. */
		assert_true(epoch + now <= watch_latest(&w, now));
		assert_true(watch_read(&w, epoch + now, now, now + 3 * SECOND));
	}
	assert_int_equal(watch_seconds(&w, 201 * SECOND), 100);
}

static void test_forward(void **state)
{
	(void)state;
	struct watch w = {0};
	assert_true(watch_read(&w, epoch + 100 * SECOND, 100 * SECOND, 100 * SECOND));
	int64_t ahead = epoch + 60 * SECOND;
	assert_true(ahead + 105 * SECOND > watch_latest(&w, 105 * SECOND)); /* this call judges no lease */
	assert_false(watch_read(&w, ahead + 105 * SECOND, 105 * SECOND, 106 * SECOND));
	assert_int_equal(watch_seconds(&w, 106 * SECOND), 0);
	assert_true(watch_read(&w, ahead + 110 * SECOND, 110 * SECOND, 110 * SECOND));
	assert_int_equal(watch_seconds(&w, 116 * SECOND), 10);
}

/* Set back: leases seem to last longer, so the watch goes on; set to its old time again: that is a step forward. */
static void test_back(void **state)
{
	(void)state;
	struct watch w = {0};
	assert_true(watch_read(&w, epoch + 100 * SECOND, 100 * SECOND, 100 * SECOND));
	assert_true(watch_read(&w, epoch + 45 * SECOND, 105 * SECOND, 105 * SECOND));
	assert_int_equal(watch_seconds(&w, 110 * SECOND), 10);
	assert_false(watch_read(&w, epoch + 110 * SECOND, 110 * SECOND, 110 * SECOND));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_steady),
		cmocka_unit_test(test_forward),
		cmocka_unit_test(test_back),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
