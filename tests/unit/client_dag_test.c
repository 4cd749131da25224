/* client_dag_test.c - `rota run --file`: when each step may start, and the requests for sub-steps. */
#include "tests/unit/translate_case.h"

#include "bin/rota/steps/dag.h"
#include "bin/rota/steps/dag_request.h"

/* A client ends soon, so it frees nothing that it makes once. Other errors are looked for as everywhere. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "detect_leaks=0";
}

static json_t *plan;
static struct dag dag;

static void dag_of(const char *script)
{
	plan = plan_of(script, NULL);
	dag_make(&dag, plan);
}

static void dag_end(void)
{
	dag_free(&dag);
	json_decref(plan);
}

/* Decide all steps that can be decided. Returns the decisions as text: "+a" starts, "~b" is skipped, "-c" can never start. */
static const char *decide(void)
{
	static char text[512];
	int unit, peer;
	enum dag_turn turn;
	*text = '\0';
	while ((turn = dag_next(&dag, &unit, &peer)) != DAG_WAIT) {
		char *name = dag_request_name(&dag, unit);
		snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s%s", *text ? " " : "",
			 turn == DAG_START  ? "+"
			 : turn == DAG_SKIP ? "~"
					    : "-",
			 name);
		free(name);
	}
	return text;
}

static void note(const char *name, enum dag_state state)
{
	for (int i = 0; i < dag.unit_count; i++) {
		char *of = dag_request_name(&dag, i);
		bool same = strcmp(of, name) == 0;
		free(of);
		if (same) {
			dag_note(&dag, i, state);
			return;
		}
	}
	fail_msg("there is no %s", name);
}

static void test_sequence(void **state)
{
	(void)state;
	dag_of(BASH "#ROTA step a\n#ROTA step b\n#ROTA step c\n");
	assert_string_equal(decide(), "+a");
	assert_string_equal(decide(), "");
	note("a", DAG_STARTED);
	assert_string_equal(decide(), "");
	note("a", DAG_COMPLETED);
	assert_string_equal(decide(), "+b");
	note("b", DAG_FAILED);
	assert_string_equal(decide(), "-c");
	dag_end();
}

/* Each condition after a peer that completed, failed, or was skipped or never started. */
static void test_conditions(void **state)
{
	(void)state;
	static const char script[] =
		BASH "#ROTA step w\n#ROTA step x --after=w:fail\n#ROTA step ok --after=x\n#ROTA step any --after=x:any\n"
		     "#ROTA step fail --after=x:fail\n#ROTA step start --after=x:start\n";
	dag_of(script);
	assert_string_equal(decide(), "+w");
	note("w", DAG_COMPLETED);
	assert_string_equal(decide(), "~x ~ok +any ~fail ~start");
	dag_end();
	dag_of(script);
	decide();
	note("w", DAG_FAILED);
	assert_string_equal(decide(), "+x");
	note("x", DAG_STARTED);
	assert_string_equal(decide(), "+start");
	note("x", DAG_FAILED);
	assert_string_equal(decide(), "-ok +any +fail");
	dag_end();
	dag_of(script);
	decide();
	note("w", DAG_FAILED);
	decide();
	note("x", DAG_FAILED); /* the program of x did not start */
	assert_string_equal(decide(), "-ok +any +fail -start");
	dag_end();
	dag_of(script);
	decide();
	note("w", DAG_FAILED);
	decide();
	note("x", DAG_STARTED);
	note("x", DAG_COMPLETED);
	assert_string_equal(decide(), "+ok +any ~fail +start");
	dag_end();
}

static void test_any_of_several(void **state)
{
	(void)state;
	static const char script[] = BASH "#ROTA --after=none\n#ROTA step a\n#ROTA step b\n#ROTA step c --after=a?b:fail\n";
	dag_of(script);
	assert_string_equal(decide(), "+a +b");
	note("a", DAG_FAILED);
	assert_string_equal(decide(), "");
	note("b", DAG_COMPLETED);
	assert_string_equal(decide(), "-c"); /* one condition failed, one is not needed */
	dag_end();
	dag_of(script);
	decide();
	note("b", DAG_FAILED);
	assert_string_equal(decide(), "+c");
	dag_end();
	dag_of(BASH "#ROTA step a\n#ROTA step b --after=none\n#ROTA step c --after=a:fail?b:fail\n");
	decide();
	note("a", DAG_COMPLETED);
	note("b", DAG_COMPLETED);
	assert_string_equal(decide(), "~c");
	dag_end();
}

static void test_arrays(void **state)
{
	(void)state;
	dag_of(BASH
	       "#ROTA step a --array=3,5,9\n#ROTA step b --array=3,5,9 --after=a:corr\n#ROTA step c --after=a:fail\n#ROTA step d "
	       "--after=b\n");
	assert_string_equal(decide(), "+a[3] +a[5] +a[9]");
	note("a[9]", DAG_COMPLETED);
	assert_string_equal(decide(), "+b[9]");
	note("a[3]", DAG_FAILED);
	assert_string_equal(decide(), "-b[3]");
	note("a[5]", DAG_COMPLETED);
	assert_string_equal(decide(), "+b[5] +c"); /* the array failed, by its worst element */
	note("b[5]", DAG_COMPLETED);
	note("b[9]", DAG_COMPLETED);
	assert_string_equal(decide(), "-d");
	dag_end();
	dag_of(BASH "#ROTA step a --array=0-3%2\n");
	assert_string_equal(decide(), "+a[0] +a[1]");
	note("a[1]", DAG_FAILED);
	assert_string_equal(decide(), "+a[2]");
	dag_end();
}

static void test_resumed(void **state)
{
	(void)state;
	dag_of(BASH "#ROTA step a --array=0-1\n#ROTA step b --after=a:start\n#ROTA step c --after=a\n");
	note("a[1]", DAG_COMPLETED);
	assert_string_equal(decide(), "+a[0]");
	note("a[0]", DAG_STARTED);
	assert_string_equal(decide(), "+b");
	note("a[0]", DAG_COMPLETED);
	assert_string_equal(decide(), "+c");
	dag_end();
}

/* -- requests */

static const char *env[] = {"HOME=/h", "ROTA_ARRAY_INDEX=99", NULL};

static struct dag_request request_for(const char *script, int unit)
{
	struct dag_request r;
	struct dag_common common = {.env = (char *const *)env, .priority = 7};
	dag_of(script);
	common.arguments = json_pack("[s s]", "one", "two words");
	dag_request_make(&r, &dag, unit, &common, "/s/x");
	return r;
}

static void test_request_sizes(void **state)
{
	(void)state;
	struct dag_request r =
		request_for(BASH "#ROTA --time=2\n#ROTA step a --ntasks=3 --cpus-per-task=2 --mem=1G --retry=4 --exclusive\n", 0);
	assert_string_equal(r.run.name, "a");
	assert_int_equal(r.run.ntasks, 1); /* the step runs as one task with all CPUs */
	assert_int_equal(r.run.cpus_per_task, 6);
	assert_int_equal(r.run.nodes, 0);
	assert_int_equal(r.run.mem_mb, 1024);
	assert_int_equal(r.run.time_s, 120);
	assert_int_equal(r.run.retry, 4);
	assert_int_equal(r.run.priority, 7);
	assert_true(r.run.exclusive);
	assert_null(r.run.gres);
	dag_request_free(&r);
	dag_end();
	r = request_for(BASH "#ROTA step a --nodes=2 --ntasks=4 --cpus-per-task=2 --run=tasks --gres=gpu:2,fpga "
			     "--nodelist=n[1-2] --exclude=m\n",
			0);
	assert_int_equal(r.run.ntasks, 4);
	assert_int_equal(r.run.cpus_per_task, 2);
	assert_int_equal(r.run.nodes, 2);
	assert_string_equal(r.run.gres, "gpu:2,fpga:1");
	assert_string_equal(r.run.nodelist, "n1,n2");
	assert_string_equal(r.run.exclude, "m");
	dag_request_free(&r);
	dag_end();
}

static void test_request_command(void **state)
{
	(void)state;
	struct dag_request r = request_for(BASH "#ROTA step a --shell=/bin/zsh --workdir=sub --output=%S.%%a --input=in\n", 0);
	assert_string_equal(r.run.argv[0], "/bin/zsh");
	assert_string_equal(r.run.argv[1], "/s/x");
	assert_string_equal(r.run.argv[2], "one");
	assert_string_equal(r.run.argv[3], "two words");
	assert_null(r.run.argv[4]);
	assert_string_equal(r.run.cwd, "/work/sub");
	assert_string_equal(r.run.output, "%S.%%a");
	assert_string_equal(r.run.error, "output");
	assert_string_equal(r.run.input, "in");
	assert_null(r.run.env);
	dag_request_free(&r);
	dag_end();
}

static void test_request_element(void **state)
{
	(void)state;
	static const char *const expected[] = {"HOME=/h",
					       "ROTA_ARRAY_INDEX=17",
					       "SLURM_ARRAY_TASK_ID=17",
					       "PBS_ARRAY_INDEX=17",
					       "PBS_ARRAYID=17",
					       "ROTA_ARRAY_SIZE=3",
					       "SLURM_ARRAY_TASK_COUNT=3",
					       "SLURM_ARRAY_TASK_MIN=5",
					       "SLURM_ARRAY_TASK_MAX=17"};
	struct dag_request r = request_for(BASH "#ROTA step a --array=9,17,5 --output=%S.%a.%4a.%b.%%a.%t --error=e\n", 2);
	size_t i = 0;
	assert_string_equal(r.run.name, "a[17]");
	assert_string_equal(r.run.output, "a.17.0017.7.%%a.%t");
	assert_string_equal(r.run.error, "e");
	for (; i < sizeof expected / sizeof *expected; i++)
		assert_string_equal(r.run.env[i], expected[i]);
	assert_null(r.run.env[i]);
	dag_request_free(&r);
	dag_end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sequence),	cmocka_unit_test(test_conditions),
		cmocka_unit_test(test_any_of_several),	cmocka_unit_test(test_arrays),
		cmocka_unit_test(test_resumed),		cmocka_unit_test(test_request_sizes),
		cmocka_unit_test(test_request_command), cmocka_unit_test(test_request_element),
	};
	return cmocka_run_group_tests(tests, utc, NULL);
}
