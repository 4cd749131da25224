/* lead_verify_test.c - nothing is signed for a launch row that was altered, or is gone. */
#include "tests/unit/lead_world.h"

/* A launch row that was altered in any column is refused, and nothing is signed for it. */
static void altered_rows(void **state)
{
	(void)state;
	for (int what = 0; what < 7; what++) {
		struct lead_orders *orders;
		struct lead_launch *launch;

		w.result.start_count = 0;
		add_step("good");
		launch = &w.launches[add_step("bad")];
		if (what == 0)
			launch->uid = 0;
		else if (what == 1)
			launch->gid = 0;
		else if (what == 2)
			launch->user_name = "root";
		else if (what == 3)
			launch->script_hash = hash_b;
		else if (what == 4)
			launch->environment_hash = hash_a;
		else if (what == 5)
			launch->spec = w.spec[0];
		else
			launch->auth = NULL;
		orders = make(false);
		assert_int_equal(orders->refused_count, 1);
		assert_int_equal(orders->refused_jobs[0], 812);
		assert_int_equal(orders->refused_requests[0], 1);
		assert_int_equal(orders->commit_count, 1);
		assert_int_equal(json_array_size(orders->commits[0].starts), 1);
		assert_int_equal(json_array_size(orders->commits[0].orders), 1);
		lead_orders_free(orders);
	}
}

static void nothing_left(void **state)
{
	struct lead_orders *orders;

	(void)state;
	w.launches[add_step("bad")].uid = 0;
	orders = make(false);
	assert_int_equal(orders->refused_count, 1);
	assert_int_equal(orders->commit_count, 0);
	lead_orders_free(orders);

	w.rows->launch_count = 0; /* a step without a launch row is neither started nor refused */
	orders = make(true);
	assert_int_equal(orders->refused_count, 0);
	assert_int_equal(orders->commit_count, 0);
	lead_orders_free(orders);
}

int main(void)
{
	const struct CMUnitTest tests[] = {TEST(altered_rows), TEST(nothing_left)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
