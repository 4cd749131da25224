/* lead_group_test.c - one step of a job group runs the prolog on a node, and the others start after it. */
#include "tests/unit/lead_world.h"

/* Two steps of a group on one node: the second starts in the cycle after that of the prolog owner. */
static void groups(void **state)
{
	static const int held[] = {1};
	struct lead_orders *orders;
	struct order order;

	(void)state;
	set_group(add_step("a"));
	set_group(add_step("b"));
	orders = make(false);
	assert_true(orders->postponed);
	assert_int_equal(json_array_size(orders->commits[0].starts), 1);
	order = parsed(&orders->commits[0], 0);
	assert_true(order.prolog);
	order_free(&order);
	lead_orders_free(orders);

	w.launches[0].group_nodes = w.launches[1].group_nodes = held;
	w.launches[0].group_node_count = w.launches[1].group_node_count = 1;
	orders = make(false);
	assert_false(orders->postponed);
	assert_int_equal(json_array_size(orders->commits[0].starts), 2);
	for (size_t i = 0; i < 2; i++) {
		order = parsed(&orders->commits[0], i);
		assert_false(order.prolog);
		order_free(&order);
	}
	lead_orders_free(orders);
}

/* Gang members of one job group still start together; one of them owns the prolog. */
static void group_in_set(void **state)
{
	struct lead_orders *orders;
	struct order first, second;

	(void)state;
	for (int i = 0; i < 2; i++) {
		int step = add_step(i ? "b" : "a");

		set_group(step);
		set_gang(step);
	}
	orders = make(false);
	assert_int_equal(json_array_size(orders->commits[0].starts), 2);
	first = parsed(&orders->commits[0], 0);
	second = parsed(&orders->commits[0], 1);
	assert_true(first.prolog);
	assert_false(second.prolog);
	order_free(&first);
	order_free(&second);
	lead_orders_free(orders);
}

int main(void)
{
	const struct CMUnitTest tests[] = {TEST(groups), TEST(group_in_set)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
