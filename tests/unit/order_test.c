/* order_test.c - launch requests: what is written reads back the same, and each field has its bounds. */
#include "tests/unit/order_sample.h"

static void test_round_trip(void **state)
{
	(void)state;
	struct order_spec spec = sample_spec();
	struct order order = sample_order(), got;
	struct err e;
	size_t length, again;
	struct fields *spec_fields = order_spec_write(&spec), *f = order_write(&order, fields_text(spec_fields, NULL));
	const char *text = fields_text(f, &length);
	if (!order_parse(text, length, &got, &e))
		fail_msg("%s", e.message);
	assert_int_equal(got.job_id, 812);
	assert_int_equal(got.uid, 1000);
	assert_int_equal(got.array_index, 7);
	assert_true(got.prolog && got.wait_for_go && got.spec.per_task && got.spec.append);
	assert_string_equal(got.node, "n2");
	assert_string_equal(got.gres, "gpu:0+3");
	assert_string_equal(got.spec.workdir, "/home/u/run 7");
	assert_int_equal(got.spec.umask, 027);
	assert_string_equal(got.failing, "n3");
	assert_int_equal(got.expires_at, 1800000000);
	struct fields *spec_again = order_spec_write(&got.spec), *f_again = order_write(&got, fields_text(spec_again, NULL));
	assert_string_equal(fields_text(f_again, &again), text);
	assert_int_equal(again, length);
	order_free(&got);
	order_free(&got); /* freeing twice is harmless */
	fields_free(spec_fields);
	fields_free(spec_again);
	fields_free(f);
	fields_free(f_again);
}

static void test_every_field_is_needed(void **state)
{
	(void)state;
	struct order_spec spec = sample_spec();
	struct order order = sample_order();
	struct fields *spec_fields = order_spec_write(&spec), *f = order_write(&order, fields_text(spec_fields, NULL));
	struct err e;
	assert_true(parses(NULL, NULL, false, &e));
	for (int i = 0; i < fields_count(f); i++)
		assert_false(parses(fields_name(f, i), NULL, false, &e));
	for (int i = 0; i < fields_count(spec_fields); i++)
		assert_false(parses(fields_name(spec_fields, i), NULL, true, &e));
	fields_free(spec_fields);
	fields_free(f);
}

static void test_unknown_and_swapped(void **state)
{
	(void)state;
	struct order_spec spec = sample_spec();
	struct order order = sample_order(), got;
	struct fields *spec_fields = order_spec_write(&spec), *f = order_write(&order, fields_text(spec_fields, NULL));
	struct fields *swapped = fields_new();
	struct err e;
	size_t length;
	fields_add(f, "later", "1");
	const char *text = fields_text(f, &length);
	assert_false(order_parse(text, length, &got, &e));
	assert_string_equal(e.message, "unknown field \"later\"");
	for (int i = 0; i < fields_count(f) - 1; i++) {
		int from = i == 1 ? 2 : i == 2 ? 1 : i;
		fields_add(swapped, fields_name(f, from), fields_value(f, from));
	}
	text = fields_text(swapped, &length);
	assert_false(order_parse(text, length, &got, &e));
	assert_string_equal(e.message, "field \"attempt\" is out of place: field \"step_id\" is expected there");
	fields_free(swapped);
	fields_free(spec_fields);
	fields_free(f);
}

static void test_order_bounds(void **state)
{
	(void)state;
	static const struct change bad[] = {
		{"job_id", "0"},
		{"job_id", "-1"},
		{"job_id", "9223372036854775808"},
		{"job_id", "812 "},
		{"step_id", "-1"},
		{"step_id", "2147483648"},
		{"attempt", "-1"},
		{"node", ""},
		{"node", "n/2"},
		{"node", "../n2"},
		{"node", "n9"},
		{"nodes", ""},
		{"nodes", "n1,n3,n2"},
		{"nodes", "n1,n2"},
		{"nodes", "n1,n2,n3,"},
		{"nodes", ",n2,n3"},
		{"nodes", "n1,n2,,n3"},
		{"nodes", "n1,n2 ,n3"},
		{"node_index", "0"},
		{"node_index", "3"},
		{"node_index", "-1"},
		{"node_count", "2"},
		{"node_count", "0"},
		{"first_task", "13"},
		{"first_task", "9"},
		{"tasks", "9"},
		{"tasks", "-1"},
		{"tasks", "2147483647"},
		{"task_count", "0"},
		{"task_count", "7"},
		{"cpus", "-1"},
		{"mem_mb", "-1"},
		{"mem_mb", "9223372036854775807"},
		{"gres", "gpu:0 3"},
		{"gres", "gpu\n"},
		{"uid", "-1"},
		{"uid", "4294967295"},
		{"gid", "4294967295"},
		{"user", ""},
		{"user", "-u"},
		{"user", "u:x"},
		{"user", "u/v"},
		{"user", "u v"},
		{"user", "u\n"},
		{"script_hash", ""},
		{"script_hash", "ba7816"},
		{"script_hash", "BA7816BF8F01CFEA414140DE5DAE2223B00361A396177A9CB410FF61F20015AD"},
		{"script_hash", "../816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
		{"environment_hash", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b8550"},
		{"array_index", "-2"},
		{"array_size", "-1"},
		{"step_label", ""},
		{"step_label", "812/solve"},
		{"step_label", "812 solve"},
		{"time_limit_s", "-1"},
		{"time_limit_s", "9223372036854775807"},
		{"grace_s", "-1"},
		{"prolog", "2"},
		{"prolog", "true"},
		{"wait_for_go", ""},
		{"failing", "n1 n2"},
		{"expires_at", "-1"},
		{"spec", ""},
		{"spec", "x"},
	};
	static const struct change good[] = {
		{"uid", "0"},	       {"uid", "4294967294"}, {"user", "DOM\\u.v"}, {"user", "svc$"}, {"array_index", "-1"},
		{"mem_mb", "0"},       {"first_task", "0"},   {"first_task", "8"},  {"gres", ""},     {"gres", "gpu:0+3,fpga:1"},
		{"time_limit_s", "0"}, {"tasks", "0"},
	};
	struct err e;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		if (parses(bad[i].name, bad[i].value, false, &e))
			fail_msg("accepted: %s=%s", bad[i].name, bad[i].value);
	for (size_t i = 0; i < sizeof good / sizeof *good; i++)
		if (!parses(good[i].name, good[i].value, false, &e))
			fail_msg("%s=%s: %s", good[i].name, good[i].value, e.message);
}

/* Numbers of each node: good ones first. */
static void test_folded(void **state)
{
	static const char *const texts[] = {"4(x2),2", "1,2,3", "12", "",	"4(x2", "4(x)",
					    "(x2)",    "4,",	",4", "4(x2)2", "-1",	"4 ,2"};
	struct order_spec spec = sample_spec();
	struct fields *spec_fields = order_spec_write(&spec);
	(void)state;
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		struct order order = sample_order(), got;
		struct err e;
		size_t length;
		order.tasks_per_node = "1";
		order.cpus_per_node = texts[i];
		struct fields *f = order_write(&order, fields_text(spec_fields, NULL));
		const char *text = fields_text(f, &length);
		bool good = order_parse(text, length, &got, &e);
		if (good != (i < 3))
			fail_msg("\"%s\" is %s", texts[i], good ? "accepted" : "refused");
		if (good) {
			assert_string_equal(got.tasks_per_node, "1");
			assert_string_equal(got.cpus_per_node, texts[i]);
			order_free(&got);
		}
		fields_free(f);
	}
	fields_free(spec_fields);
}

/* Variables of burst_buffer.lua: absent, good, and bad. */
static void test_variables(void **state)
{
	static const char *const texts[] = {
		"1=5:A=b=c\n2=3:_b=\n", "", "A=1", "1=3:A=1", "1=1:A\n", "1=2:=1\n", "1=3:1=1\n", "2=3:A=1\n"};
	struct order_spec spec = sample_spec();
	struct fields *spec_fields = order_spec_write(&spec);
	(void)state;
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		struct order order = sample_order(), got;
		struct err e;
		size_t length;
		order.variables = texts[i];
		struct fields *f = order_write(&order, fields_text(spec_fields, NULL));
		const char *text = fields_text(f, &length);
		bool good = order_parse(text, length, &got, &e);
		if (good != (i == 0))
			fail_msg("\"%s\" is %s", texts[i], good ? "accepted" : "refused");
		if (good) {
			assert_string_equal(got.variables, texts[i]);
			order_free(&got);
		}
		fields_free(f);
	}
	fields_free(spec_fields);
}

static void test_no_host_list(void **state)
{
	(void)state;
	struct order_spec spec = sample_spec();
	struct order order = sample_order(), got;
	struct err e;
	size_t length;
	order.nodes = "";
	order.node_index = 0;
	order.node_count = 1;
	struct fields *spec_fields = order_spec_write(&spec), *f = order_write(&order, fields_text(spec_fields, NULL));
	const char *text = fields_text(f, &length);
	assert_true(order_parse(text, length, &got, &e));
	order_free(&got);
	fields_free(spec_fields);
	fields_free(f);
}

static void test_every_prefix_is_refused(void **state)
{
	(void)state;
	size_t length;
	struct order got;
	struct err e;
	char *text = altered(NULL, NULL, false, &length);
	for (size_t cut = 0; cut < length; cut++) {
		char *part = xmalloc(cut); /* no longer than the prefix, so that the sanitizer sees reads beyond it */
		memcpy(part, text, cut);
		assert_false(order_parse(part, cut, &got, &e));
		free(part);
	}
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_round_trip),
					   cmocka_unit_test(test_every_field_is_needed),
					   cmocka_unit_test(test_unknown_and_swapped),
					   cmocka_unit_test(test_order_bounds),
					   cmocka_unit_test(test_folded),
					   cmocka_unit_test(test_variables),
					   cmocka_unit_test(test_no_host_list),
					   cmocka_unit_test(test_every_prefix_is_refused)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
