/* order_spec_test.c - specs of launch requests: what is written reads back the same, and each field has its bounds. */
#include <limits.h>

#include "tests/unit/order_sample.h"

#include "lib/arguments.h"
#include "lib/order_valid.h"

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

/* A flag that is off is left out, so older specs parse as without it and each content has one text. */
static void test_spec_flags(void **state)
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
	fields_add(with, "fence", "1"); /* out of the order of the table */
	assert_false(order_spec_parse(fields_text(with, NULL), strlen(fields_text(with, NULL)), &got, &owner, &e));
	fields_free(with);
	fields_add(without, "fence", "0");
	assert_false(order_spec_parse(fields_text(without, NULL), strlen(fields_text(without, NULL)), &got, &owner, &e));
	fields_free(without);
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

/* OUT[,OUT]...:IN[,IN]...; everything ambiguous is refused. */
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
	assert_false(order_valid_if_changed(longest));
	longest[PATH_MAX - 1] = '\0';
	assert_true(order_valid_if_changed(longest));
	free(longest);
}

/* Names, none twice; a name is a file name without a dot. */
static void test_spec_credentials(void **state)
{
	static const char *const good[] = {"k", "krb5,archive", "a-b_9,b,c,d", "abcdefghijklmnopqrstuvwxyz-1234"};
	static const char *const bad[] = {"",	 ",",  "k,",   ",k",	 "k,k",
					  "K",	 "9",  "../k", "k.x",	 "k, a",
					  "k\n", "-k", "k ",   "k:krb5", "abcdefghijklmnopqrstuvwxyz-12345"};
	struct order_spec spec = sample_spec(), got;
	struct fields *owner;
	struct err e;
	(void)state;
	for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
		spec.credentials = good[i];
		struct fields *f = order_spec_write(&spec);
		assert_true(order_spec_parse(fields_text(f, NULL), strlen(fields_text(f, NULL)), &got, &owner, &e));
		assert_string_equal(got.credentials, good[i]);
		fields_free(owner);
		fields_free(f);
	}
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		spec.credentials = bad[i];
		spec_is_refused(spec, "credentials");
	}
	spec.credentials = "a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q";
	spec_is_refused(spec, "credentials");
}

/* The folder of the job, then seven items for each transfer. */
static void test_spec_transfers(void **state)
{
	static const char *const items[] = {"/scratch/%u/%j", "in", "1", "", "copy", "keep", "/a b", "$ROTA_SCRATCH/b", "out"};
	static const struct {
		int from, count;
		bool good;
	} cases[] = {{0, 1, true},  {0, 8, true},  {3, 1, true},  {0, 2, false},
		     {0, 7, false}, {0, 9, false}, {1, 1, false}, {1, 8, false}};
	struct order_spec spec = sample_spec(), got;
	struct fields *owner;
	struct err e;
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char *text = arguments_write(items + cases[i].from, cases[i].count);
		struct fields *f;
		spec.transfers = text;
		f = order_spec_write(&spec);
		if (!cases[i].good)
			spec_is_refused(spec, "transfers");
		else
			assert_true(order_spec_parse(fields_text(f, NULL), strlen(fields_text(f, NULL)), &got, &owner, &e));
		if (cases[i].good) {
			assert_string_equal(got.transfers, text);
			fields_free(owner);
		}
		fields_free(f);
		free(text);
	}
	spec.transfers = "in";
	spec_is_refused(spec, "transfers");
	spec.transfers = NULL;
	spec.shell = "mover";
	struct fields *f = order_spec_write(&spec);
	assert_true(order_spec_parse(fields_text(f, NULL), strlen(fields_text(f, NULL)), &got, &owner, &e));
	fields_free(owner);
	fields_free(f);
}

/* A field added later is left out when it has its default, so older texts still parse and stay unchanged. */
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

static void test_later_fields_invalid(void **state)
{
	(void)state;
	struct order_spec spec = sample_spec();
	spec.signal_s = 60;
	spec_is_refused(spec, "the signal before the time limit has no number");
	spec = sample_spec();
	spec.signal = 65;
	spec_is_refused(spec, "signal");
	spec = sample_spec();
	spec.array_min = 5;
	spec.array_max = 4;
	spec.array_step = 1;
	spec_is_refused(spec, "the array's indices 5 to 4 are not a range");
	spec.array_step = 0;
	spec_is_refused(spec, "the array's indices");
	spec = sample_spec();
	spec.submit_dir = "from";
	spec_is_refused(spec, "submit_dir");
}

/* Script arguments are a text of their own within the spec, with one spelling. */
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
			fail_msg("accepted: %s=%s", bad[i].name, bad[i].value);
	for (size_t i = 0; i < sizeof good / sizeof *good; i++)
		if (!parses(good[i].name, good[i].value, true, &e))
			fail_msg("%s=%s: %s", good[i].name, good[i].value, e.message);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_spec_alone),		cmocka_unit_test(test_spec_flags),
					   cmocka_unit_test(test_spec_if_changed),	cmocka_unit_test(test_spec_transfers),
					   cmocka_unit_test(test_spec_credentials),	cmocka_unit_test(test_later_fields),
					   cmocka_unit_test(test_later_fields_invalid), cmocka_unit_test(test_spec_arguments),
					   cmocka_unit_test(test_spec_bounds)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
