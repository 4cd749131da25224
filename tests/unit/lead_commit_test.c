/* lead_commit_test.c - how starts are divided into commits: by number, and each gang as a whole. */
#include "tests/unit/lead_world.h"

/* A long array is split into several commits, and each element is in exactly one. */
static void commits(void **state)
{
	enum { ELEMENTS = 2 * LEAD_COMMIT_MOST + 1 };
	static struct schedule_start starts[ELEMENTS];
	static const size_t expected[] = {LEAD_COMMIT_MOST, LEAD_COMMIT_MOST, 1};
	int head = add_step("render"), position = 0;
	struct lead_orders *orders;

	(void)state;
	w.launches[head].array_size = ELEMENTS;
	w.launches[head].array_indices = "[[0, 5000, 1]]";
	for (int i = 0; i < ELEMENTS; i++) {
		starts[i] = w.starts[head];
		starts[i].position = i;
	}
	w.result.starts = starts;
	w.result.start_count = ELEMENTS;
	orders = make(false);
	assert_int_equal(orders->commit_count, 3);
	for (size_t i = 0; i < 3; i++) {
		const json_t *start;
		struct order order = parsed(&orders->commits[i], 0);
		size_t k;

		assert_int_equal(json_array_size(orders->commits[i].starts), expected[i]);
		json_array_foreach (orders->commits[i].starts, k, start)
			assert_int_equal(number(start, "position"), position++);
		order_free(&order);
	}
	assert_int_equal(position, ELEMENTS);
	lead_orders_free(orders);
}

static void sets(void **state)
{
	struct lead_orders *orders;

	(void)state;
	add_step("alone");
	set_gang(add_step("a"));
	set_gang(add_step("b"));
	add_step("last");
	orders = make(true);
	assert_int_equal(orders->commit_count, 3);
	assert_int_equal(json_array_size(orders->commits[1].starts), 2);
	lead_orders_free(orders);

	w.launches[2].uid = 0; /* one member of the gang is refused, so the other does not start */
	orders = make(true);
	assert_int_equal(orders->refused_count, 1);
	assert_int_equal(orders->commit_count, 2);
	assert_int_equal(number(json_array_get(orders->commits[0].starts, 0), "step"), 0);
	assert_int_equal(number(json_array_get(orders->commits[1].starts, 0), "step"), 3);
	lead_orders_free(orders);
}

int main(void)
{
	const struct CMUnitTest tests[] = {TEST(commits), TEST(sets)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
