/* order_test.c - launch orders and specs: what is written reads back the same, and each field is held to its bounds. */
#include <limits.h>

#include "tests/unit/unit.h"

#include "lib/arguments.h"
#include "lib/order.h"

static const char hash_a[] = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
static const char hash_b[] = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

static struct order_spec sample_spec(void)
{
	return (struct order_spec){
		.pre_from = 1,
		.pre_to = 4,
		.from = 6,
		.to = 9,
		.per_task = true,
		.step_name = "solve",
		.job_name = "heat & co",
		.account = "physics",
		.partition = "main",
		.output = "%x-%j.out",
		.error = "",
		.input = "/dev/null",
		.append = true,
		.workdir = "/home/u/run 7",
		.umask = 027,
		.shell = "login",
		.user_prolog = "/home/u/pro",
		.user_epilog = "",
		.group = "g1",
		.rlimits = "nofile=1024,stack=unlimited",
		.submit_ntasks = 8,
		.cpus_per_task = 2,
	};
}

static struct order sample_order(void)
{
	return (struct order){
		.job_id = 812,
		.step_id = 3,
		.attempt = 1,
		.node = "n2",
		.nodes = "n1,n2,n3",
		.node_index = 1,
		.node_count = 3,
		.first_task = 4,
		.tasks = 4,
		.task_count = 12,
		.cpus = 8,
		.mem_mb = 2048,
		.gres = "gpu:0+3",
		.uid = 1000,
		.gid = 100,
		.user = "u",
		.script_hash = hash_a,
		.environment_hash = hash_b,
		.array_index = 7,
		.array_size = 10,
		.step_label = "812.solve[7]",
		.time_limit_s = 3600,
		.grace_s = 30,
		.prolog = true,
		.wait_for_go = true,
		.failing = "n3",
		.expires_at = 1800000000,
	};
}

/* The sample's text with one field's value replaced (NULL: left out). `in_spec`: the field is one of the spec. */
static char *altered(const char *name, const char *value, bool in_spec, size_t *length)
{
	struct order_spec spec = sample_spec();
	struct order order = sample_order();
	struct fields *spec_fields = order_spec_write(&spec), *f = order_write(&order, fields_text(spec_fields, NULL));
	struct fields *from = in_spec ? spec_fields : f, *to = fields_new();
	for (int i = 0; i < fields_count(from); i++) {
		bool this_one = name && strcmp(fields_name(from, i), name) == 0;
		if (!this_one)
			fields_add(to, fields_name(from, i), fields_value(from, i));
		else if (value)
			fields_add(to, name, value);
	}
	char *text = xstrdup(fields_text(to, NULL));
	fields_free(to);
	fields_free(f);
	fields_free(spec_fields);
	if (in_spec) {
		f = order_write(&order, text);
		free(text);
		text = xstrdup(fields_text(f, NULL));
		fields_free(f);
	}
	*length = strlen(text);
	return text;
}

static bool parses(const char *name, const char *value, bool in_spec, struct err *e)
{
	size_t length;
	struct order order;
	char *text = altered(name, value, in_spec, &length);
	*e = (struct err){0};
	bool ok = order_parse(text, length, &order, e);
	free(text);
	if (ok)
		order_free(&order);
	else
		assert_string_not_equal(e->message, "");
	return ok;
}

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
	order_free(&got); /* a second time does no harm */
	fields_free(spec_fields);
	fields_free(spec_again);
	fields_free(f);
	fields_free(f_again);
}

/* What was added later is there only where it says something, so that older texts are read and stay what they are. */
static void test_later_fields(void **state)
{
	(void)state;
	struct err e;
	struct order_spec spec = sample_spec(), got;
	struct fields *f = order_spec_write(&spec), *owner;
	static const char *const later[] = {"submit_dir", "array_min", "array_max",    "array_step",
					    "signal",	  "signal_s",  "signal_shell", "if_changed"};
	for (size_t i = 0; i < sizeof later / sizeof *later; i++)
		assert_null(fields_get(f, later[i]));
	assert_true(order_spec_parse(fields_text(f, NULL), strlen(fields_text(f, NULL)), &got, &owner, &e));
	assert_null(got.submit_dir);
	assert_int_equal(got.array_step, 0);
	assert_int_equal(got.signal, 0);
	fields_free(owner);
	fields_free(f);
	spec.submit_dir = "/from";
	spec.array_max = 18;
	spec.array_step = 2;
	spec.signal = 10;
	spec.signal_s = 60;
	spec.signal_shell = true;
	f = order_spec_write(&spec);
	assert_null(fields_get(f, "array_min"));
	assert_true(order_spec_parse(fields_text(f, NULL), strlen(fields_text(f, NULL)), &got, &owner, &e));
	assert_string_equal(got.submit_dir, "/from");
	assert_true(got.array_min == 0 && got.array_max == 18 && got.array_step == 2);
	assert_true(got.signal == 10 && got.signal_s == 60 && got.signal_shell);
	fields_free(owner);
	fields_free(f);
}

static void spec_is_refused(struct order_spec spec, const char *message)
{
	struct err e;
	struct order_spec got;
	struct fields *f = order_spec_write(&spec), *owner;
	assert_false(order_spec_parse(fields_text(f, NULL), strlen(fields_text(f, NULL)), &got, &owner, &e));
	assert_non_null(strstr(e.message, message));
	fields_free(f);
}

static void test_later_senseless(void **state)
{
	(void)state;
	struct order_spec spec = sample_spec();
	spec.signal_s = 60;
	spec_is_refused(spec, "which signal is not said");
	spec = sample_spec();
	spec.signal = 65;
	spec_is_refused(spec, "signal");
	spec = sample_spec();
	spec.array_min = 5;
	spec.array_max = 4;
	spec.array_step = 1;
	spec_is_refused(spec, "array of indices 5 to 4");
	spec.array_step = 0;
	spec_is_refused(spec, "array of indices");
	spec = sample_spec();
	spec.submit_dir = "from";
	spec_is_refused(spec, "submit_dir");
}

/* OUT[,OUT]...:IN[,IN]..., and nothing that could be read in two ways. */
static void test_spec_if_changed(void **state)
{
	static const char *const good[] = {"a:b", "a,b:c,d", "out.%a:/in/~", "a b:c\n"};
	static const char *const bad[] = {"", ":", "a", "a:", ":b", "a,b", "a:b:c", ",a:b", "a,:b", "a:b,", "a:,b", "a,,b:c"};
	struct order_spec spec = sample_spec(), got;
	struct fields *owner;
	struct err e;
	(void)state;
	for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
		spec.if_changed = good[i];
		struct fields *f = order_spec_write(&spec);
		assert_true(order_spec_parse(fields_text(f, NULL), strlen(fields_text(f, NULL)), &got, &owner, &e));
		assert_string_equal(got.if_changed, good[i]);
		fields_free(owner);
		fields_free(f);
	}
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		spec.if_changed = bad[i];
		spec_is_refused(spec, "if_changed");
	}
	char *longest = xmalloc(PATH_MAX + 1);
	memset(longest, 'a', PATH_MAX);
	longest[PATH_MAX] = '\0';
	longest[1] = ':';
	assert_false(order_if_changed_valid(longest));
	longest[PATH_MAX - 1] = '\0';
	assert_true(order_if_changed_valid(longest));
	free(longest);
}

/* A mark is there or not: a spec from before there was one reads as without it, and each content has one text. */
static void test_spec_mark(void **state)
{
	(void)state;
	struct err e;
	struct order_spec spec = sample_spec(), got;
	struct fields *without = order_spec_write(&spec), *owner;
	assert_null(fields_get(without, "fence"));
	assert_true(order_spec_parse(fields_text(without, NULL), strlen(fields_text(without, NULL)), &got, &owner, &e));
	assert_false(got.fence);
	fields_free(owner);
	spec.fence = true;
	struct fields *with = order_spec_write(&spec);
	assert_true(order_spec_parse(fields_text(with, NULL), strlen(fields_text(with, NULL)), &got, &owner, &e));
	assert_true(got.fence && !got.no_kill);
	fields_free(owner);
	fields_free(with);
	spec.fence = false;
	spec.no_kill = true;
	with = order_spec_write(&spec);
	assert_true(order_spec_parse(fields_text(with, NULL), strlen(fields_text(with, NULL)), &got, &owner, &e));
	assert_true(!got.fence && got.no_kill);
	assert_null(got.arguments);
	fields_free(owner);
	fields_add(with, "fence", "1"); /* in the table's order only */
	assert_false(order_spec_parse(fields_text(with, NULL), strlen(fields_text(with, NULL)), &got, &owner, &e));
	fields_free(with);
	fields_add(without, "fence", "0");
	assert_false(order_spec_parse(fields_text(without, NULL), strlen(fields_text(without, NULL)), &got, &owner, &e));
	fields_free(without);
}

/* The arguments of a script: a text of its own within the spec, with one spelling. */
static void test_spec_arguments(void **state)
{
	static const char *const words[] = {"a b", "", "\n"};
	static const char *const bad[] = {"", "x", "2=1:a\n", "1=1:a\n1=1:b\n", "1=1:a\n3=1:b\n", "01=1:a\n", "1=2:a\n", "1=1:a"};
	struct order_spec spec = sample_spec(), got;
	struct fields *owner;
	struct err e;
	char *text = arguments_write(words, 3);
	(void)state;
	spec.arguments = text;
	struct fields *with = order_spec_write(&spec);
	assert_true(order_spec_parse(fields_text(with, NULL), strlen(fields_text(with, NULL)), &got, &owner, &e));
	struct fields *list = arguments_parse(got.arguments);
	assert_int_equal(fields_count(list), 3);
	for (int i = 0; i < 3; i++)
		assert_string_equal(fields_value(list, i), words[i]);
	fields_free(list);
	fields_free(owner);
	fields_free(with);
	free(text);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		spec.arguments = bad[i];
		with = order_spec_write(&spec);
		assert_false(order_spec_parse(fields_text(with, NULL), strlen(fields_text(with, NULL)), &got, &owner, &e));
		fields_free(with);
	}
	assert_null(arguments_write(NULL, 0));
}

static void test_spec_alone(void **state)
{
	(void)state;
	struct order_spec spec = sample_spec(), got;
	struct fields *f = order_spec_write(&spec), *owner;
	struct err e;
	size_t length;
	const char *text = fields_text(f, &length);
	assert_true(order_spec_parse(text, length, &got, &owner, &e));
	assert_string_equal(got.job_name, "heat & co");
	fields_free(owner);
	assert_false(order_spec_parse(text, length - 1, &got, &owner, &e));
	assert_null(owner);
	assert_false(order_spec_parse("", 0, &got, &owner, &e));
	fields_add(f, "more", "1");
	text = fields_text(f, &length);
	assert_false(order_spec_parse(text, length, &got, &owner, &e));
	assert_string_equal(e.message, "unknown field \"more\"");
	fields_free(f);
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
	assert_string_equal(e.message, "field \"attempt\" stands where \"step_id\" belongs");
	fields_free(swapped);
	fields_free(spec_fields);
	fields_free(f);
}

struct change {
	const char *name, *value;
};

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
			fail_msg("believed: %s=%s", bad[i].name, bad[i].value);
	for (size_t i = 0; i < sizeof good / sizeof *good; i++)
		if (!parses(good[i].name, good[i].value, false, &e))
			fail_msg("%s=%s: %s", good[i].name, good[i].value, e.message);
}

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

/* An order for several elements has one spelling, and the order of each can be picked. */
static void test_elements(void **state)
{
	(void)state;
	static const char *const bad[] = {"",	     "4",    "4:",	 "4:8,",	 ",4:8", "3:8",	 "5:8,4:9",
					  "4:8,4:9", "4:08", "4:8,5:9,", "4294967300:8", "4:8 ", "-4:8", "4:8:9"};
	struct order order = sample_order(), got;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		order.also = bad[i];
		if (parses_also(&order, &got))
			fail_msg("believed: \"%s\"", bad[i]);
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

/* An order for several nodes that follow each other, and for each of them the ranks that come behind those of the one before. */
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
	order.more_nodes = 2; /* there are not so many */
	assert_false(parses_also(&order, &got));
	order.more_nodes = 1;
	order.tasks = (order.task_count - order.first_task) / 2 + 1; /* nor so many tasks */
	assert_false(parses_also(&order, &got));
	order.tasks = 2;
	order.also = "4:8"; /* the one or the other */
	assert_false(parses_also(&order, &got));
	order.also = NULL;
	order.more_nodes = 0;
	assert_true(parses_also(&order, &got));
	assert_false(order_pick_node(&got, "n3"));
	order_free(&got);
}

static void test_spec_bounds(void **state)
{
	(void)state;
	static const struct change bad[] = {
		{"pre_from", "0"},
		{"pre_from", "5"},
		{"pre_from", "-1"},
		{"from", "10"},
		{"from", "0"},
		{"to", "0"},
		{"per_task", "2"},
		{"step_name", ""},
		{"step_name", "a b"},
		{"step_name", "a/b"},
		{"step_name", "s\xc3\xa9"},
		{"step_name", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"},
		{"job_name", ""},
		{"job_name", "a\nb"},
		{"job_name", "a\x7f"},
		{"account", "a\tb"},
		{"partition", "a\nb"},
		{"workdir", ""},
		{"workdir", "run"},
		{"workdir", "./run"},
		{"umask", "512"},
		{"umask", "-1"},
		{"shell", "bash"},
		{"shell", "login "},
		{"user_prolog", "pro"},
		{"user_epilog", "../epi"},
		{"group", "g 1"},
		{"rlimits", "nofile=10;x"},
		{"rlimits", "a=1\n"},
		{"submit_ntasks", "-1"},
		{"cpus_per_task", "0"},
		{"append", "yes"},
	};
	static const struct change good[] = {
		{"step_name", "Solve_1.a-b"},
		{"job_name", "l\xc3\xb6sung 1"},
		{"account", ""},
		{"shell", ""},
		{"shell", "/bin/bash"},
		{"group", ""},
		{"rlimits", ""},
		{"umask", "511"},
		{"user_prolog", ""},
		{"workdir", "/"},
		{"submit_ntasks", "0"},
	};
	struct err e;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		if (parses(bad[i].name, bad[i].value, true, &e))
			fail_msg("believed: %s=%s", bad[i].name, bad[i].value);
	for (size_t i = 0; i < sizeof good / sizeof *good; i++)
		if (!parses(good[i].name, good[i].value, true, &e))
			fail_msg("%s=%s: %s", good[i].name, good[i].value, e.message);
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
		char *part = xmalloc(cut); /* exactly as long, for the sanitizer */
		memcpy(part, text, cut);
		assert_false(order_parse(part, cut, &got, &e));
		free(part);
	}
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_spec_alone),
		cmocka_unit_test(test_spec_mark),
		cmocka_unit_test(test_spec_if_changed),
		cmocka_unit_test(test_later_fields),
		cmocka_unit_test(test_later_senseless),
		cmocka_unit_test(test_spec_arguments),
		cmocka_unit_test(test_every_field_is_needed),
		cmocka_unit_test(test_unknown_and_swapped),
		cmocka_unit_test(test_order_bounds),
		cmocka_unit_test(test_elements),
		cmocka_unit_test(test_nodes),
		cmocka_unit_test(test_spec_bounds),
		cmocka_unit_test(test_no_host_list),
		cmocka_unit_test(test_every_prefix_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
