/* lead_order_test.c - the contents of a start and of its launch requests. */
#include "tests/unit/lead_world.h"

static void two_nodes(void **state)
{
	static const int devices[] = {0, 3};
	struct schedule_devices gres = {"gpu", devices, 2};
	int i = add_step("solve");
	struct lead_orders *orders;
	struct order order;
	const json_t *start, *allocation;

	(void)state;
	w.keys[i].attempt = 2;
	w.shares[i][0] =
		(struct schedule_share){.node_id = 2, .cpus = 3, .mem_mb = 64, .tasks = 3, .gres = &gres, .gres_count = 1};
	w.shares[i][1] = (struct schedule_share){.node_id = 1, .cpus = 3, .mem_mb = 64, .tasks = 2};
	w.starts[i].share_count = 2;
	orders = make(false);
	assert_int_equal(orders->commit_count, 1);
	assert_int_equal(orders->refused_count, 0);
	start = json_array_get(orders->commits[0].starts, 0);
	assert_int_equal(number(start, "job"), 812);
	assert_int_equal(number(start, "attempt"), 3);
	assert_true(json_is_null(json_object_get(start, "position")));
	assert_int_equal(json_integer_value(json_array_get(json_object_get(start, "nodes"), 0)), 2);
	allocation = json_array_get(json_object_get(start, "allocations"), 0);
	assert_int_equal(number(allocation, "node"), 2);
	assert_int_equal(json_integer_value(json_array_get(json_object_get(json_object_get(allocation, "gres"), "gpu"), 1)), 3);
	assert_true(json_is_true(json_object_get(allocation, "prolog_owner")));

	assert_int_equal(json_array_size(orders->commits[0].orders), 2);
	order = parsed(&orders->commits[0], 0);
	assert_string_equal(order.node, "n2");
	assert_string_equal(order.nodes, "n2,n1");
	assert_string_equal(order.failing, "n2");
	assert_string_equal(order.tasks_per_node, "3,2");
	assert_string_equal(order.cpus_per_node, "3(x2)");
	assert_string_equal(order.gres, "gpu:0+3");
	assert_string_equal(order.step_label, "812.solve");
	assert_int_equal(order.attempt, 3);
	assert_int_equal(order.grace_s, 30);
	assert_int_equal(order.expires_at, 5000);
	assert_true(order.wait_for_go);
	order_free(&order);
	order = parsed(&orders->commits[0], 1);
	assert_string_equal(order.node, "n1");
	assert_int_equal(order.node_index, 1);
	assert_int_equal(order.first_task, 3);
	assert_int_equal(order.tasks, 2);
	assert_int_equal(order.task_count, 5);
	assert_string_equal(order.gres, "");
	assert_int_equal(order.uid, 1000);
	assert_string_equal(order.tasks_per_node, "3,2");
	order_free(&order);
	lead_orders_free(orders);
}

/* A request for one node has its numbers unchanged. */
static void one_node(void **state)
{
	struct lead_orders *orders;
	struct order order;

	(void)state;
	add_step("solve");
	orders = make(false);
	order = parsed(&orders->commits[0], 0);
	assert_null(order.tasks_per_node);
	assert_null(order.cpus_per_node);
	order_free(&order);
	lead_orders_free(orders);
}

static void array_elements(void **state)
{
	int i = add_step("render"), k;
	struct lead_orders *orders;
	struct order order;

	(void)state;
	w.launches[i].array_size = 6;
	w.launches[i].array_indices = "[[1, 3, 1], [10, 20, 5]]";
	w.starts[i].position = 4;
	k = add_step("tidy"); /* an element with a row of its own, as after a requeue */
	w.launches[k].array_size = 3;
	w.keys[k].array_index = 7;
	orders = make(false);
	order = parsed(&orders->commits[0], 0);
	assert_int_equal(order.step_id, i + 1 + 4);
	assert_int_equal(order.attempt, 1);
	assert_int_equal(order.array_index, 15);
	assert_int_equal(order.array_size, 6);
	assert_string_equal(order.step_label, "812.render[15]");
	assert_false(order.wait_for_go);
	order_free(&order);
	order = parsed(&orders->commits[0], 1);
	assert_int_equal(order.step_id, k);
	assert_string_equal(order.step_label, "812.tidy[7]");
	order_free(&order);
	assert_int_equal(number(json_array_get(orders->commits[0].starts, 0), "position"), 4);
	assert_int_equal(number(json_array_get(orders->commits[0].starts, 0), "request"), i);
	lead_orders_free(orders);
}

/* The sampling period is sent with the launch request, unsigned, unless the step is not sampled. */
static void samples(void **state)
{
	struct lead_orders *orders;
	json_t *first, *second;

	(void)state;
	add_step("seldom");
	w.launches[add_step("often")].sample_s = 30;
	orders = make(false);
	first = json_array_get(orders->commits[0].orders, 0);
	second = json_array_get(orders->commits[0].orders, 1);
	assert_null(json_object_get(first, "args"));
	assert_int_equal(number(json_object_get(second, "args"), "sample_s"), 30);
	lead_orders_free(orders);
}

/* The idle limit of partition or quality of service is in the signed text. */
static void idle_limits(void **state)
{
	struct lead_orders *orders;
	struct order order;
	int i = add_step("limited");

	(void)state;
	w.launches[i].idle_timeout_s = 3600;
	w.launches[i].idle_timeout_of = "partition debug";
	add_step("free");
	orders = make(false);
	order = parsed(&orders->commits[0], 0);
	assert_int_equal(order.idle_timeout_s, 3600);
	assert_string_equal(order.idle_timeout_of, "partition debug");
	order_free(&order);
	order = parsed(&orders->commits[0], 1);
	assert_int_equal(order.idle_timeout_s, 0);
	assert_null(order.idle_timeout_of);
	order_free(&order);
	lead_orders_free(orders);
}

int main(void)
{
	const struct CMUnitTest tests[] = {TEST(two_nodes), TEST(one_node), TEST(array_elements), TEST(samples),
					   TEST(idle_limits)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
