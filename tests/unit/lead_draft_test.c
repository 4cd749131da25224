/* lead_draft_test.c - launch requests that differ only in the element, or only in the node, become one. */
#include "tests/unit/lead_world.h"

/* Nodes of a step with equal shares have one launch request, which gives the index and the first task of each node. */
static void nodes_together(void **state)
{
	int i = add_step("wide");
	struct lead_orders *orders;
	struct order order;
	const json_t *nodes;

	(void)state;
	w.shares[i][1] = w.shares[i][0];
	w.shares[i][0].node_id = 2;
	w.starts[i].share_count = 2;
	orders = make(false);
	assert_int_equal(json_array_size(orders->commits[0].orders), 1);
	nodes = json_object_get(json_array_get(orders->commits[0].orders, 0), "node_ids");
	assert_int_equal(json_array_size(nodes), 2);
	assert_int_equal(json_integer_value(json_array_get(nodes, 0)), 2);
	assert_int_equal(json_integer_value(json_array_get(nodes, 1)), 1);
	order = parsed(&orders->commits[0], 0);
	assert_string_equal(order.node, "n2");
	assert_true(order_pick_node(&order, "n1"));
	assert_int_equal(order.node_index, 1);
	assert_int_equal(order.first_task, 1);
	order_free(&order);
	lead_orders_free(orders);

	w.shares[i][1].mem_mb++;
	orders = make(false);
	assert_int_equal(json_array_size(orders->commits[0].orders), 2);
	lead_orders_free(orders);
}

/* Make start i the element at position p of the array of step `head`. */
static void add_element(int head, int i, int p)
{
	w.shares[i][0] = w.shares[head][0];
	w.starts[i] = w.starts[head];
	w.starts[i].position = p;
	w.starts[i].shares = w.shares[i];
	w.result.start_count = (size_t)i + 1;
}

/* Elements with equal shares on a node have one launch request. Elements with other shares, and those committed one by one, have
 * their own. */
static void elements_together(void **state)
{
	int head = add_step("render");
	struct lead_orders *orders;
	struct order order;

	(void)state;
	w.launches[head].array_size = 10;
	w.launches[head].array_indices = "[[0, 9, 1]]";
	w.starts[head].position = 0;
	for (int i = 1; i < STEPS_MOST; i++)
		add_element(head, i, i);
	w.shares[2][0].cpus = 1;
	orders = make(false);
	assert_int_equal(json_array_size(orders->commits[0].starts), 4);
	assert_int_equal(json_array_size(orders->commits[0].orders), 3);
	order = parsed(&orders->commits[0], 0);
	assert_int_equal(order.element_count, 2);
	assert_true(order_pick(&order, head + 2));
	assert_string_equal(order.step_label, "812.render[1]");
	assert_int_equal(json_array_size(json_object_get(json_array_get(orders->commits[0].orders, 0), "also")), 1);
	order_free(&order);
	order = parsed(&orders->commits[0], 1);
	assert_int_equal(order.element_count, 1);
	assert_int_equal(order.cpus, 1);
	order_free(&order);
	lead_orders_free(orders);

	w.shares[2][0].cpus = 2;
	w.shares[3][0].node_id = 2;
	orders = make(false);
	assert_int_equal(json_array_size(orders->commits[0].orders), 2);
	lead_orders_free(orders);

	w.signer.separate = true; /* as with a controller prolog for each element */
	orders = make(false);
	assert_int_equal(json_array_size(orders->commits[0].orders), 4);
	lead_orders_free(orders);
	w.signer.separate = false;
	orders = make(true);
	assert_int_equal(orders->commit_count, 4);
	for (size_t i = 0; i < 4; i++) {
		order = parsed(&orders->commits[i], 0);
		assert_int_equal(order.element_count, 1);
		order_free(&order);
	}
	lead_orders_free(orders);
}

int main(void)
{
	const struct CMUnitTest tests[] = {TEST(nodes_together), TEST(elements_together)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
