/* translate_modify_test.c - changes of a submitted step by options; the variables of an environment that --export selects. */
#include "tests/unit/translate_case.h"

static json_t *modify(const json_t *step, const char *const *options, struct translate_problems *problems)
{
	struct translate_request q = request_of("", 0, options);
	memset(problems, 0, sizeof *problems);
	return translate_modify(&q, &translate_limits_default, step, problems);
}

#define FULL                                                                                                                     \
	BASH "#ROTA --account=acc\n#ROTA step a --nodes=2 --ntasks-per-node=4 --cpus-per-task=2 --mem=4G --gres=gpu:2 "          \
	     "--licenses=m:1 --exclusive "                                                                                       \
	     "--constraint=a --nodelist=n[1-4] --exclude=n9 --time=60 --time-min=30 --begin=now+1hour --deadline=now+9days "     \
	     "--no-requeue --retry=2 --sample=7 --replace-failed --node-loss=fence "                                             \
	     "--hold --group=g --keep=mem --output=o --error=e --input=i --open-mode=append --workdir=w --umask=027 "            \
	     "--shell=/bin/sh --prolog=p --if-changed=o:i --idle-timeout=20 --image=el9 --node-prep=mode:1,2 "                   \
	     "--epilog=q --run=tasks -p part --array=0-9%3 --after=7?8 \ntrue\n"

/* Changing only the comment leaves the step unchanged. */
static void modify_nothing(void **state)
{
	static const char *const scripts[] = {
		FULL,
		BASH "true\n",
		BASH "#ROTA -n 8 --mem-per-cpu=5\n",
		BASH "#ROTA --nodes=2-4\n",
		BASH "#ROTA step a --nodes=2\n#ROTA step b --same-nodes=a\n",
		BASH "#ROTA step script\n#ROTA step b\n",
		BASH "#ROTA --checkpoint=app --checkpoint-dir=c --checkpoint-signal=B:USR2 "
		     "--checkpoint-interval=5 --checkpoint-before=3 --checkpoint-keep=4 --tmpdir -t 9\n"};
	struct translate_problems problems;
	(void)state;
	for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++) {
		json_t *plan = plan_of(scripts[i], NULL), *step = json_array_get(json_object_get(plan, "steps"), i == 4 ? 1 : 0);
		json_t *answer = modify(step, (const char *[]){"--comment=x", NULL}, &problems);
		if (!answer)
			fail_msg("%s", problems.list[0].message);
		char *before = json_dumps(step, JSON_SORT_KEYS),
		     *after = json_dumps(json_object_get(answer, "step"), JSON_SORT_KEYS);
		assert_string_equal(before, after);
		free(before);
		free(after);
		assert_string_equal(json_string_value(pick(answer, "job/comment")), "x");
		assert_int_equal(json_object_size(json_object_get(answer, "job")), 1);
		assert_string_equal(json_string_value(pick(answer, "options/0")), "comment");
		json_decref(answer);
		json_decref(plan);
	}
}

static void modify_facts(void **state)
{
	static const struct fact facts[] = {
		{FULL, {"--time=2:00:00"}, {{"step/time_limit_s", "7200"}}},
		{BASH "true\n",
		 {"--checkpoint=app", "--checkpoint-keep=3"},
		 {{"step/checkpoint", "{\"driver\":\"app\",\"keep\":3}"}}},
		{BASH "#ROTA --checkpoint=app --checkpoint-interval=auto\n",
		 {"--checkpoint-keep=3"},
		 {{"step/checkpoint", "{\"driver\":\"app\",\"keep\":3,\"interval\":\"auto\"}"}}},
		{BASH "#ROTA --checkpoint=app\n", {"--checkpoint=no"}, {{"step/checkpoint", "null"}}},
		{BASH "true\n", {"--checkpoint=dmtcp"}, {{"step/checkpoint", "{\"driver\":\"dmtcp\",\"keep\":2}"}}},
		{BASH "#ROTA --cred=krb5\n", {"--checkpoint=auto"}, {{"step/checkpoint/driver", "\"auto\""}}},
		{BASH "#ROTA --cred=krb5\n", {"--checkpoint=app"}, {{"step/checkpoint/driver", "\"app\""}}},
		{FULL, {"-t", "0"}, {{"step/time_limit_s", "0"}}},
		{FULL, {"--nodes=4"}, {{"step/ntasks", "16"}}},
		{FULL, {"--nodes=4"}, {{"step/nodes_max", "4"}}},
		{FULL, {"--mem=8G"}, {{"step/mem_mb", "8192"}}},
		{FULL, {"--mem-per-cpu=1"}, {{"step/mem_mb", "null"}}},
		{FULL, {"--mem-per-cpu=1"}, {{"step/mem_per_cpu_mb", "1"}}},
		{FULL, {"--gres=none"}, {{"step/gres", "{}"}}},
		{FULL, {"--gpus-per-node=4"}, {{"step/gres", "{\"gpu\":4}"}}},
		{FULL, {"--no-hold"}, {{"step/hold", "false"}}},
		{FULL, {"--deadline=none"}, {{"step/deadline_at", "null"}}},
		{FULL, {"--array=0-9%5"}, {{"step/array/limit", "5"}}},
		{FULL, {"--array=0-9"}, {{"step/array/limit", "null"}}},
		{FULL, {"--partition=b"}, {{"step/partition", "\"b\""}}},
		{FULL, {"--constraint=none"}, {{"step/constraint", "\"\""}}},
		{FULL, {"--time=9", "--time-min=8"}, {{"options", "[\"time\",\"time-min\"]"}}},
		{FULL, {"--job-name=b", "--nice=5"}, {{"job", "{\"name\":\"b\",\"nice\":5}"}}},
		{FULL, {"--time=61"}, {{"step/deps_any", "true"}}},
		{FULL, {"--time=61"}, {{"step/extra", "1"}}},
		{BASH "#ROTA -n 8 --ntasks-per-node=4\n", {"-n", "16"}, {{"step/nodes_min", "4"}}},
		{BASH "true\n", {"--nodes=2"}, {{"step/ntasks", "2"}}},
		{BASH "true\n", {"--ntasks=8"}, {{"step/nodes_max", "null"}}},
	};
	struct translate_problems problems;
	(void)state;
	for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
		json_t *plan = plan_of(facts[i].script, NULL), *step = json_array_get(json_object_get(plan, "steps"), 0);
		json_object_set_new(step, "extra", json_integer(1));
		json_t *answer = modify(step, facts[i].options, &problems);
		if (!answer)
			fail_msg("%s: %s", facts[i].options[0], problems.list[0].message);
		char *json = json_dumps(pick(answer, facts[i].members[0].path), JSON_COMPACT | JSON_ENCODE_ANY);
		if (strcmp(json, facts[i].members[0].value) != 0)
			fail_msg("%s: %s is %s instead of %s", facts[i].options[0], facts[i].members[0].path, json,
				 facts[i].members[0].value);
		free(json);
		json_decref(answer);
		json_decref(plan);
	}
}

static void modify_spec(void **state)
{
	struct translate_problems problems;
	struct order_spec before, after;
	(void)state;
	json_t *plan = plan_of(FULL, NULL), *step = json_array_get(json_object_get(plan, "steps"), 0);
	json_t *answer = modify(step, (const char *[]){"--job-name=new", "--output=out2", "--prolog=r", "-p=x", NULL}, &problems);
	assert_null(answer); /* "=x" is no partition */
	translate_problems_free(&problems);
	answer = modify(step, (const char *[]){"--job-name=new", "--output=out2", "--prolog=r", "-px", NULL}, &problems);
	assert_non_null(answer);
	struct fields *one = spec_of(step, &before), *two = spec_of(json_object_get(answer, "step"), &after);
	assert_int_equal(after.pre_to, before.pre_to);
	assert_int_equal(after.from, before.from);
	assert_int_equal(after.to, before.to);
	assert_string_equal(after.step_name, "a");
	assert_string_equal(after.job_name, "new");
	assert_string_equal(after.account, "acc");
	assert_string_equal(after.output, "out2");
	assert_string_equal(after.error, "e");
	assert_string_equal(after.user_prolog, "/work/w/r");
	assert_string_equal(after.user_epilog, "/work/w/q");
	assert_string_equal(after.partition, "x");
	assert_string_equal(after.rlimits, before.rlimits);
	assert_int_equal(after.umask, 027);
	assert_string_equal(after.if_changed, "o:i");
	fields_free(two);
	json_decref(answer);
	answer = modify(step, (const char *[]){"--if-changed=none", NULL}, &problems);
	assert_non_null(answer);
	two = spec_of(json_object_get(answer, "step"), &after);
	assert_null(after.if_changed);
	assert_string_equal(after.output, before.output);
	fields_free(one);
	fields_free(two);
	json_decref(answer);
	json_decref(plan);
}

/* A default that the user or the partition got after the submission does not apply to submitted steps. */
static void modify_later_default(void **state)
{
	struct translate_request q = request_of("", 0, (const char *[]){"--checkpoint=dmtcp", NULL});
	struct translate_problems problems = {0};
	json_t *plan = plan_of(BASH "true\n", NULL), *answer;
	(void)state;
	q.credentials = "krb5";
	answer = translate_modify(&q, &translate_limits_default, json_array_get(json_object_get(plan, "steps"), 0), &problems);
	assert_non_null(answer);
	assert_null(pick(answer, "step/credentials"));
	json_decref(answer);
	json_decref(plan);
}

static void modify_refused(void **state)
{
	static const struct refusal refusals[] = {
		SAID("--after=a", FULL, "--after", "cannot be changed", "submit it again"),
		SAID("--dependency=afterok:1", FULL, "--dependency", "cannot be changed", NULL),
		SAID("--with=a", FULL, "--with", "cannot be changed", NULL),
		SAID("--same-nodes=a", FULL, "--same-nodes", "cannot be changed", NULL),
		SAID("--other-nodes=a", FULL, "--other-nodes", "cannot be changed", NULL),
		SAID("--export=NONE", FULL, "--export", "cannot be changed", NULL),
		SAID("--cred=krb5", FULL, "--cred", "cannot be changed", NULL),
		SAID("--no-prefer-data", FULL, "--prefer-data", "cannot be changed", NULL),
		SAID("--array=0-8", FULL, "--array", "the indices cannot be changed", "%limit"),
		SAID("--array=none", FULL, "--array", "the indices cannot be changed", NULL),
		SAID("--array=0-8", BASH, "--array", "the indices cannot be changed", NULL),
		SAID("--ntasks=1", FULL, "--ntasks", "2 nodes need at least 2 tasks", NULL),
		SAID("--hint=compute_bound", FULL, "--hint", "ignored", NULL),
		SAID("--tme=1", FULL, "--tme", "unknown option", "--time"),
		SAID("--time=20", FULL, "--time-min", "longer than --time", NULL),
		SAID("--deadline=now+10minutes", FULL, "--deadline", "not after --begin", NULL),
		/* the same rules as at a submission */
		SAID("--checkpoint=dmtcp", BASH "#ROTA --cred=krb5\n", "--checkpoint",
		     "would hold the credentials of the step (krb5)", "--checkpoint=app"),
		SAID("--checkpoint=criu", BASH "#ROTA --cred=krb5\n", "--checkpoint",
		     "would hold the credentials of the step (krb5)", NULL),
		SAID("--checkpoint=dmtcp", BASH "#ROTA --gpus=1\n", "--checkpoint", "does not save what a program has in GPUs",
		     "--checkpoint=app"),
		SAID("--gpus=1", BASH "#ROTA --checkpoint=dmtcp\n", "--checkpoint", "does not save what a program has in GPUs",
		     NULL),
		SAID("--checkpoint=auto", BASH "#ROTA --checkpoint=app --checkpoint-signal=USR2\n", "--checkpoint-signal",
		     "DMTCP uses SIGUSR2", NULL),
		SAID("--open-mode=truncate", BASH "#ROTA --checkpoint=auto\n", "--open-mode", "goes on in its output", NULL),
		SAID("--checkpoint=auto", BASH "#ROTA --run=tasks\n", "--checkpoint", "runs once for each task", NULL),
		SAID("--checkpoint=dmtcp", BASH "#ROTA --run=tasks --nodes=2-3\n", "--checkpoint",
		     "only on a fixed number of nodes", "--nodes=1"),
		SAID("--nodes=2-3", BASH "#ROTA --run=tasks --nodes=1 --checkpoint=dmtcp\n", "--checkpoint",
		     "only on a fixed number of nodes", "--nodes=1"),
		SAID("--checkpoint=mana", BASH, "--checkpoint", "no driver", NULL),
		SAID("--checkpoint-keep=3", BASH, "--checkpoint-keep", "the step is not checkpointed", "--checkpoint=app"),
		{FULL, {NULL}, 0, "", "nothing to change", NULL},
	};
	struct translate_problems problems;
	(void)state;
	for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
		json_t *plan = plan_of(refusals[i].script, NULL), *step = json_array_get(json_object_get(plan, "steps"), 0);
		assert_null(modify(step, refusals[i].options, &problems));
		if (!refuses(&problems, &refusals[i]))
			fail_msg("%s: \"%s: %s\"", refusals[i].options[0], problems.list[0].option, problems.list[0].message);
		translate_problems_free(&problems);
		json_decref(plan);
	}
	static const char *const bad[] = {"{}", "{\"spec\": \"x\"}", "{\"spec\": 1}", "[]"};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		json_t *step = json_loads(bad[i], 0, NULL);
		assert_null(modify(step, (const char *[]){"--time=5", NULL}, &problems));
		assert_non_null(strstr(problems.list[0].message, "no launch spec"));
		translate_problems_free(&problems);
		json_decref(step);
	}
	json_t *plan = plan_of(FULL, NULL), *step = json_array_get(json_object_get(plan, "steps"), 0);
	struct translate_request nowhere = request_of("", 0, (const char *[]){"--workdir=sub", NULL});
	nowhere.workdir = "sub";
	assert_null(translate_modify(&nowhere, &translate_limits_default, step, &problems));
	assert_non_null(strstr(problems.list[0].message, "the working directory \"sub\" is not an absolute path"));
	translate_problems_free(&problems);
	json_object_set_new(step, "begin_at", json_string("2030-01-01"));
	assert_null(modify(step, (const char *[]){"--time=5", NULL}, &problems));
	assert_non_null(strstr(problems.list[0].message, "member \"begin_at\" of the step is malformed"));
	translate_problems_free(&problems);
	json_object_set_new(step, "begin_at", json_real(1900000000.25)); /* as SQL gives an epoch */
	json_t *answer = modify(step, (const char *[]){"--time=99", NULL}, &problems);
	assert_int_equal(json_integer_value(pick(answer, "step/begin_at")), 1900000000);
	json_decref(answer);
	json_decref(plan);
}

static void export(void **state)
{
	static const struct {
		const char *list, *answer;
	} cases[] = {
		{"ALL", "[\"A=1\",\"B=2=3\",\"BASH_FUNC_x%%=() {  :; }\"]"},
		{"NONE", "[]"},
		{"A", "[\"A=1\"]"},
		{"A,MISSING,B", "[\"A=1\",\"B=2=3\"]"},
		{"A=x", "[\"A=x\"]"},
		{"ALL,A=x,C=", "[\"A=x\",\"B=2=3\",\"BASH_FUNC_x%%=() {  :; }\",\"C=\"]"},
		{"A=x,ALL", "[\"A=x\",\"B=2=3\",\"BASH_FUNC_x%%=() {  :; }\"]"},
		{"A=x,A", "[\"A=x\"]"},
		{"C='d,e',A", "[\"C=d,e\",\"A=1\"]"},
		{"C='d", "[\"C='d\"]"},
		{"A,,B", NULL},
		{"", NULL},
		{"NONE,A", NULL},
	};
	(void)state;
	json_t *environment = json_pack("[s, s, s, s, i]", "A=1", "B=2=3", "BASH_FUNC_x%%=() {  :; }", "no value", 7);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct err e;
		json_t *answer = translate_export(cases[i].list, environment, &e);
		char *json = answer ? json_dumps(answer, JSON_COMPACT) : NULL;
		if (!cases[i].answer)
			assert_null(json);
		else if (!json || strcmp(json, cases[i].answer) != 0)
			fail_msg("--export=%s gave %s instead of %s", cases[i].list, json ? json : e.message, cases[i].answer);
		free(json);
		json_decref(answer);
	}
	json_decref(environment);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(modify_nothing),	cmocka_unit_test(modify_facts),	  cmocka_unit_test(modify_spec),
		cmocka_unit_test(modify_later_default), cmocka_unit_test(modify_refused), cmocka_unit_test(export),
	};
	return cmocka_run_group_tests(tests, utc, NULL);
}
