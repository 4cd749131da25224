/* order_pick_test.c - launch requests for several elements or nodes: one spelling, and the request of each can be picked. */
#include "tests/unit/order_sample.h"

static bool parses_also(struct order *order, struct order *got)
{
	struct err e;
	size_t length;
	struct order_spec spec = sample_spec();
	struct fields *spec_fields = order_spec_write(&spec), *f = order_write(order, fields_text(spec_fields, NULL));
	const char *text = fields_text(f, &length);
	bool good = order_parse(text, length, got, &e);
	fields_free(f);
	fields_free(spec_fields);
	return good;
}

/* A request for several elements has one spelling, and the request of each element can be picked. */
static void test_elements(void **state)
{
	(void)state;
	static const char *const bad[] = {"",	     "4",    "4:",	 "4:8,",	 ",4:8", "3:8",	 "5:8,4:9",
					  "4:8,4:9", "4:08", "4:8,5:9,", "4294967300:8", "4:8 ", "-4:8", "4:8:9"};
	struct order order = sample_order(), got;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		order.also = bad[i];
		if (parses_also(&order, &got))
			fail_msg("accepted: \"%s\"", bad[i]);
	}
	order.also = "4:8,60:0";
	assert_true(parses_also(&order, &got));
	assert_int_equal(got.element_count, 3);
	char *text = order_elements_text(got.elements + 1, 2);
	assert_string_equal(text, order.also);
	free(text);
	assert_true(order_pick(&got, 60));
	assert_int_equal(got.array_index, 0);
	assert_string_equal(got.step_label, "812.solve[0]");
	assert_false(order_pick(&got, 5));
	assert_int_equal(got.step_id, 60);
	assert_true(order_pick(&got, 3));
	assert_string_equal(got.step_label, "812.solve[7]");
	order_free(&got);
	order.step_label = "812.solve";
	assert_false(parses_also(&order, &got));
	order.step_label = "812.solve[8]";
	assert_false(parses_also(&order, &got));
	order = sample_order();
	order.also = "4:8";
	order.array_index = -1;
	assert_false(parses_also(&order, &got));
}

/* A request for several consecutive nodes. Task ranks continue from node to node. */
static void test_nodes(void **state)
{
	(void)state;
	struct order order = sample_order(), got;
	order.tasks = 2;
	order.more_nodes = 1;
	assert_true(parses_also(&order, &got));
	assert_true(order_pick_node(&got, order.node));
	assert_int_equal(got.first_task, order.first_task);
	assert_true(order_pick_node(&got, "n3"));
	assert_string_equal(got.node, "n3");
	assert_int_equal(got.node_index, 2);
	assert_int_equal(got.first_task, order.first_task + 2);
	assert_false(order_pick_node(&got, "n1"));
	assert_false(order_pick_node(&got, "n4"));
	assert_true(order_pick_node(&got, "n2"));
	assert_int_equal(got.node_index, 1);
	assert_int_equal(got.first_task, order.first_task);
	order_free(&got);
	order.more_nodes = 2; /* more nodes than the request has */
	assert_false(parses_also(&order, &got));
	order.more_nodes = 1;
	order.tasks = (order.task_count - order.first_task) / 2 + 1; /* more tasks than the request has */
	assert_false(parses_also(&order, &got));
	order.tasks = 2;
	order.also = "4:8"; /* a request is for several elements or for several nodes, not for both */
	assert_false(parses_also(&order, &got));
	order.also = NULL;
	order.more_nodes = 0;
	assert_true(parses_also(&order, &got));
	assert_false(order_pick_node(&got, "n3"));
	order_free(&got);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_elements), cmocka_unit_test(test_nodes)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
