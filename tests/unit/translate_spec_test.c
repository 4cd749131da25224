/* translate_spec_test.c - the spec of a step: lines, files, signals, arguments and all other values that only the node needs. */
#include "lib/arguments.h"
#include "tests/unit/translate_case.h"

/* Fields of a spec (lib/order.h), absent where they have no value. */
static void spec_fields(void **state)
{
	static const struct fact facts[] = {
		/* submit_dir only where the working directory is another */
		FACT("", "0:submit_dir", "nothing"),
		FACT("#SBATCH --chdir=/elsewhere\n", "0:submit_dir", "/work"),
		FACT("#ROTA --workdir=/work\n", "0:submit_dir", "nothing"),
		/* the range of an array */
		{BASH "", {0}, {{"0:array_min", "nothing"}, {"0:array_max", "nothing"}, {"0:array_step", "nothing"}}},
		{BASH "#ROTA --array=0-9\n", {0}, {{"0:array_min", "nothing"}, {"0:array_max", "9"}, {"0:array_step", "1"}}},
		{BASH "#ROTA --array=2-10:4%2\n", {0}, {{"0:array_min", "2"}, {"0:array_max", "10"}, {"0:array_step", "4"}}},
		{BASH "#ROTA --array=7,3\n", {0}, {{"0:array_min", "3"}, {"0:array_max", "7"}, {"0:array_step", "4"}}},
		{BASH "#ROTA --array=0-8:2,20\n",
		 {0},
		 {{"0:array_min", "nothing"}, {"0:array_max", "20"}, {"0:array_step", "1"}}},
		/* signals */
		{BASH "#ROTA --signal=USR1\n", {0}, {{"0:signal", "10"}, {"0:signal_s", "60"}, {"0:signal_shell", "nothing"}}},
		{BASH "#SBATCH --signal=B:sigterm@120\n",
		 {0},
		 {{"0:signal", "15"}, {"0:signal_s", "120"}, {"0:signal_shell", "1"}}},
		{BASH "#SBATCH --signal=RB:12@0\n",
		 {0},
		 {{"0:signal", "12"}, {"0:signal_s", "nothing"}, {"0:signal_shell", "1"}}},
		{BASH "#SBATCH --signal=R:INT@65535\n",
		 {0},
		 {{"0:signal", "2"}, {"0:signal_s", "65535"}, {"0:signal_shell", "nothing"}}},
		/* node loss: a lost node ends its attempt of a step that may run again (fence), unless --node-loss says otherwise */
		{BASH "", {0}, {{"0:fence", "1"}, {"0:no_kill", "nothing"}}},
		{BASH "#ROTA --requeue\n", {0}, {{"0:fence", "1"}, {"0:no_kill", "nothing"}}},
		{BASH "#ROTA --no-requeue\n", {0}, {{"0:fence", "nothing"}, {"0:no_kill", "nothing"}}},
		{BASH "#ROTA --node-loss=keep --kill\n", {0}, {{"0:fence", "nothing"}, {"0:no_kill", "nothing"}}},
		{BASH "#ROTA --no-requeue --node-loss=fence\n", {0}, {{"0:fence", "1"}, {"0:no_kill", "nothing"}}},
		{BASH "#ROTA --step-manager\n", {0}, {{"0:step_manager", "1"}}},
		{BASH "#ROTA --tmpdir\n", {0}, {{"0:tmpdir", "1"}}},
		{BASH "#ROTA --no-tmpdir\n", {0}, {{"0:tmpdir", "nothing"}}},
		{BASH "#ROTA --replace-failed\n", {0}, {{"0:replace_failed", "1"}, {"0:no_kill", "1"}}},
		{BASH "#ROTA --replace-failed\n#ROTA --no-replace-failed\n",
		 {0},
		 {{"0:replace_failed", "nothing"}, {"0:no_kill", "nothing"}}},
		{BASH "#ROTA --idle-timeout=1:00:00\n", {0}, {{"0:idle_timeout_s", "3600"}}},
		{BASH "#ROTA --idle-timeout=1:00:00\n#ROTA step a --idle-timeout=0\n", {0}, {{"0:idle_timeout_s", "nothing"}}},
		{BASH "#ROTA --idle-timeout=30000-0\n", {0}, {{"0:idle_timeout_s", "2147483647"}}},
		{BASH "true\n",
		 {0},
		 {{"0:checkpoint", "nothing"}, {"0:checkpoint_dir", "nothing"}, {"0:checkpoint_signal", "nothing"}}},
		{BASH "#ROTA --checkpoint=app --workdir=w\n",
		 {0},
		 {{"0:checkpoint", "app"},
		  {"0:checkpoint_dir", "/work/w/checkpoints"},
		  {"0:checkpoint_signal", "10"},
		  {"0:checkpoint_interval_s", "nothing"},
		  {"0:checkpoint_before_s", "nothing"},
		  {"0:checkpoint_keep", "2"}}},
		{BASH "#ROTA --checkpoint=app --checkpoint-dir=~/c --checkpoint-signal=USR2 --checkpoint-interval=30:00 "
		      "--checkpoint-before=5:00 --checkpoint-keep=1\n",
		 {0},
		 {{"0:checkpoint_dir", "/home/u/c"},
		  {"0:checkpoint_signal", "12"},
		  {"0:checkpoint_shell", "nothing"},
		  {"0:checkpoint_interval_s", "1800"},
		  {"0:checkpoint_before_s", "300"},
		  {"0:checkpoint_keep", "1"}}},
		{BASH "#ROTA --checkpoint=dmtcp\n", {0}, {{"0:checkpoint", "dmtcp"}, {"0:append", "1"}}},
		{BASH "#ROTA --checkpoint=criu --checkpoint-signal=USR2\n", {0}, {{"0:checkpoint", "criu"}, {"0:append", "1"}}},
		{BASH "#ROTA --checkpoint=app --checkpoint-signal=B:USR2\n",
		 {0},
		 {{"0:checkpoint_signal", "12"}, {"0:checkpoint_shell", "1"}}},
		{BASH "#ROTA --grow=812.0.1\n", {0}, {{"0:grows", "812.0.1"}}},
		{BASH "#ROTA --no-kill\n", {0}, {{"0:fence", "1"}, {"0:no_kill", "1"}}},
		{BASH "#SBATCH --no-kill\n", {0}, {{"0:fence", "1"}, {"0:no_kill", "1"}}},
		/* files */
		{BASH "#PBS -o o -e e\n", {0}, {{"0:output", "o"}, {"0:error", "e"}}},
		{BASH "#PBS -o o -e e\n#PBS -j oe\n", {0}, {{"0:output", "o"}, {"0:error", ""}}},
		{BASH "#PBS -j oe -e e -o o\n", {0}, {{"0:output", "o"}, {"0:error", ""}}},
		{BASH "#PBS -j oe\n#SBATCH -e e\n", {0}, {{"0:output", ""}, {"0:error", "e"}}},
		{BASH "#PBS -o /tmp/ -e ~/\n", {0}, {{"0:output", "/tmp/rota-%j%R.out"}, {"0:error", "/home/u/rota-%j%R.err"}}},
		{BASH "#ROTA --output=o/ --array=0-3\n", {0}, {{"0:output", "o/rota-%j.%S.%a%R.out"}, {"0:error", ""}}},
		{BASH "#ROTA --output=o/\n#ROTA step a\n", {0}, {{"0:output", "o/rota-%j.%S%R.out"}, {"0:error", ""}}},
		{BASH "#ROTA step script\n#ROTA step a\n", {0}, {{"0:output", "rota-%j.%S%R.out"}, {"0:error", ""}}},
		{BASH "#ROTA step script --output=o\n", {0}, {{"0:output", "o"}, {"0:error", ""}}},
		{BASH "#ROTA step script --array=0-3\n", {0}, {{"0:output", "rota-%j.%S.%a%R.out"}, {"0:error", ""}}},
		{BASH "#ROTA step a\n#ROTA step script\n", {0}, {{"0:output", ""}, {"0:error", ""}}},
		/* --if-changed, before the first step and of a step */
		{BASH "#ROTA --if-changed=out.%a:in,~/x\n#ROTA step a\ntrue\n#ROTA step b --if-changed=b:a\ntrue\n"
		      "#ROTA step c --if-changed=none\ntrue\n",
		 {0},
		 {{"0:if_changed", "out.%a:in,~/x"}, {"1:if_changed", "b:a"}, {"2:if_changed", "nothing"}}},
		{BASH "one\ntwo\n",
		 {0},
		 {{"0:pre_from", "0"}, {"0:pre_to", "0"}, {"0:from", "1"}, {"0:to", "3"}, {"0:umask", "18"}}},
		{BASH "#ROTA --output=~/o-%j --prolog=pro --umask=077\nset -e\n#ROTA step a --error=e --input=/in\none\n\n"
		      "#ROTA step b --run=tasks --open-mode=append --workdir=sub --epilog=epi --shell=login --group=g -p "
		      "fast -n 3 -c 2\ntwo",
		 {"--account=acc"},
		 {
			 {"0:pre_from", "1"},
			 {"0:pre_to", "3"},
			 {"0:from", "4"},
			 {"0:to", "6"},
			 {"0:per_task", "0"},
			 {"0:append", "0"},
			 {"0:step_name", "a"},
			 {"0:job_name", "heat.sh"},
			 {"0:account", "acc"},
			 {"0:output", "/home/u/o-%j"},
			 {"0:error", "e"},
			 {"0:input", "/in"},
			 {"0:workdir", "/work"},
			 {"0:umask", "63"},
			 {"0:shell", ""},
			 {"0:user_prolog", "/work/pro"},
			 {"0:user_epilog", ""},
			 {"0:rlimits", "nofile=1024,core=0"},
			 {"0:submit_ntasks", "0"},
			 {"1:from", "7"},
			 {"1:to", "8"},
			 {"1:per_task", "1"},
			 {"1:append", "1"},
			 {"1:partition", "fast"},
			 {"1:workdir", "/work/sub"},
			 {"1:user_prolog", "/work/sub/pro"},
			 {"1:user_epilog", "/work/sub/epi"},
			 {"1:shell", "login"},
			 {"1:group", "g"},
			 {"1:submit_ntasks", "3"},
			 {"1:cpus_per_task", "2"},
		 }},
	};
	(void)state;
	FACTS(facts);
}

/* The arguments of the script, in the job and in the spec of every step. */
static void arguments(void **state)
{
	static const char script[] = BASH "#ROTA step a\n#ROTA step b\n";
	static const char *const words[] = {"a b", "", "-n", "\xC3\xA9\n"};
	struct translate_request q = request_of(script, strlen(script), NULL);
	struct translate_problems problems = {0};
	struct order_spec spec;
	(void)state;
	q.arguments = words;
	q.argument_count = 4;
	json_t *plan = translate_script(&q, &translate_limits_default, &problems);
	assert_non_null(plan);
	translate_plan_whole(plan);
	assert_int_equal(json_array_size(pick(plan, "job/arguments")), 4);
	for (int i = 0; i < 2; i++) {
		struct fields *owner = spec_of(pick(plan, i ? "steps/1" : "steps/0"), &spec),
			      *list = arguments_parse(spec.arguments);
		assert_int_equal(fields_count(list), 4);
		for (int j = 0; j < 4; j++)
			assert_string_equal(fields_value(list, j), words[j]);
		fields_free(list);
		fields_free(owner);
	}
	json_decref(plan);
}

/* Too many, too long, and not UTF-8. */
static void arguments_refused(void **state)
{
	static const char *many[1001], *bad[] = {"ok", "\xFF"};
	char *large = xmalloc(40000);
	struct {
		const char *const *list;
		int count;
		const char *message;
	} cases[] = {{many, 1001, "1001 arguments"},
		     {bad, 2, "argument 2 of the script is not UTF-8"},
		     {(const char *[]){large}, 1, "have 40000 bytes"}};
	(void)state;
	memset(large, 'x', 39999);
	large[39999] = '\0';
	for (int i = 0; i < 1001; i++)
		many[i] = "x";
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct translate_request q = request_of(BASH, strlen(BASH), NULL);
		struct translate_problems problems = {0};
		q.arguments = cases[i].list;
		q.argument_count = cases[i].count;
		assert_null(translate_script(&q, &translate_limits_default, &problems));
		if (!strstr(problems.list[0].message, cases[i].message))
			fail_msg("\"%s\" instead of \"%s\"", problems.list[0].message, cases[i].message);
		translate_problems_free(&problems);
	}
	free(large);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(spec_fields),
		cmocka_unit_test(arguments),
		cmocka_unit_test(arguments_refused),
	};
	return cmocka_run_group_tests(tests, utc, NULL);
}
