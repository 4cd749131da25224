/* gate_modify_test.c - which changes of a spec are allowed to users other than its owner. */
#include "tests/unit/order_plain.h"
#include "tests/unit/unit.h"

#include "jobmgr/gate/gate_modify.h"
#include "lib/order.h"

static const struct order_spec sample = {
	.from = 2,
	.to = 9,
	.step_name = "solve",
	.job_name = "heat",
	.account = "physics",
	.partition = "main",
	.workdir = "/home/u",
	.umask = 022,
	ORDER_SPEC_PLAIN,
};

static bool alike(const struct order_spec *changed)
{
	struct fields *before = order_spec_write(&sample), *after = order_spec_write(changed);
	bool result = gate_modify_runs_alike(fields_text(before, NULL), fields_text(after, NULL));

	fields_free(before);
	fields_free(after);
	return result;
}

static void placing(void **state)
{
	struct order_spec changed = sample;

	(void)state;
	assert_true(alike(&changed));
	changed.job_name = "other";
	changed.account = "";
	changed.partition = "long";
	changed.submit_ntasks = 7;
	changed.cpus_per_task = 3;
	assert_true(alike(&changed));
}

/* Each of these changes would let an operator run a program as the owner, or write to a file of the owner. */
static void running(void **state)
{
	struct order_spec changed[] = {sample, sample, sample, sample, sample, sample, sample, sample, sample, sample};

	(void)state;
	changed[0].user_prolog = "/tmp/x";
	changed[1].user_epilog = "/tmp/x";
	changed[2].shell = "/tmp/x";
	changed[3].workdir = "/tmp";
	changed[4].output = "/home/u/.profile";
	changed[5].error = "/home/u/.profile";
	changed[6].input = "/home/u/secret";
	changed[7].from = 3;
	changed[8].umask = 0;
	changed[9].per_task = true;
	for (size_t i = 0; i < sizeof changed / sizeof *changed; i++)
		assert_false(alike(&changed[i]));
}

static void malformed(void **state)
{
	struct fields *good = order_spec_write(&sample);
	const char *text = fields_text(good, NULL);

	(void)state;
	assert_false(gate_modify_runs_alike(text, ""));
	assert_false(gate_modify_runs_alike("", text));
	assert_false(gate_modify_runs_alike(text, "x=1:y"));
	assert_false(gate_modify_runs_alike("x=1:y\n", text));
	fields_free(good);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(placing),
		cmocka_unit_test(running),
		cmocka_unit_test(malformed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
