/* translate_staging_test.c - directives for burst_buffer.lua: where they count, how lines are joined, which are refused. */
#include "tests/unit/translate_case.h"

/* Translate a script of an instance whose directives have this name. */
static json_t *staged(const char *directive, const char *script, const char *const *options, struct translate_problems *problems)
{
	struct translate_request q = request_of(script, strlen(script), options);
	q.directive = directive;
	memset(problems, 0, sizeof *problems);
	return translate_script(&q, &translate_limits_default, problems);
}

/* The directives of a plan; NULL: none. */
static char *directives_of(const char *directive, const char *script, const char *const *options, const char *member)
{
	struct translate_problems problems;
	json_t *plan = staged(directive, script, options, &problems);
	if (!plan)
		fail_msg("%s: %s", script, problems.list[0].message);
	const json_t *staging = pick(plan, "job/staging");
	const char *text = json_string_value(json_object_get(staging, member));
	char *copy = text ? xstrdup(text) : NULL;
	json_decref(plan);
	return copy;
}

static void head(void **state)
{
	static const struct {
		const char *script, *directives;
	} cases[] = {
		{BASH "true\n", NULL},
		{BASH "#BB_LUA\ntrue\n", "#BB_LUA"},
		{BASH "#BB_LUA \ntrue\n", "#BB_LUA "},
		{BASH "#BB_LUA a\n", "#BB_LUA a"},
		{BASH "#BB_LUA a", "#BB_LUA a"},
		{BASH "#BB_LUATIC a\n", "#BB_LUATIC a"},
		{BASH "# BB_LUA a\n#bb_lua b\n", NULL},
		{BASH "\n#SBATCH -t 1\n\n#BB_LUA a\n#x\n#BB_LUA b\ntrue\n#BB_LUA c\n", "#BB_LUA a\n#BB_LUA b"},
		{BASH "#BB_LUA a\n \n#BB_LUA b\n", "#BB_LUA a"},
		{BASH "#BB_LUA a \\\n#BB_LUA b\n#BB_LUA c\n", "#BB_LUA a  b\n#BB_LUA c"},
		{BASH "#BB_LUA a \\\n# other\n#BB_LUA b\n", "#BB_LUA a \\\n#BB_LUA b"},
		{BASH "#BB_LUA $(x) 'y' \"z\" ;|&\n", "#BB_LUA $(x) 'y' \"z\" ;|&"},
		{BASH "#BB_LUA a\n#ROTA step one\n#BB_LUA b\ntrue\n", "#BB_LUA a\n#BB_LUA b"},
	};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char *found = directives_of("BB_LUA", cases[i].script, NULL, "directives");
		if (!found != !cases[i].directives || (found && strcmp(found, cases[i].directives) != 0))
			fail_msg("%s: \"%s\"", cases[i].script, found);
		free(found);
	}
}

/* Another directive name, an instance without burst_buffer.lua, and a client that does not know the instance. */
static void names(void **state)
{
	static const char script[] = BASH "#BB_LUA a\n#DATA b\n";
	char *found = directives_of("DATA", script, NULL, "directives");
	(void)state;
	assert_string_equal(found, "#DATA b");
	free(found);
	assert_null(directives_of("", script, NULL, "directives"));
	assert_null(directives_of(NULL, script, NULL, "directives"));
}

static void command_line(void **state)
{
	static const char *const options[] = {"--bb=#BB_LUA one\n#BB_LUA two", NULL};
	struct translate_problems problems;
	const json_t *warning;
	json_t *plan;
	char *found = directives_of("BB_LUA", BASH "#BB_LUA three\n", options, "directives");
	(void)state;
	assert_string_equal(found, "#BB_LUA one\n#BB_LUA two\n#BB_LUA three");
	free(found);
	found = directives_of("BB_LUA", BASH "#BB_LUA three\n", options, "inserted");
	assert_string_equal(found, "#BB_LUA one\n#BB_LUA two");
	free(found);
	found = directives_of("BB_LUA", BASH "true\n", (const char *const[]){"--bb=one", NULL}, "directives");
	assert_null(found);
	plan = staged("BB_LUA", BASH "true\n", (const char *const[]){"--bb=one", NULL}, &problems);
	warning = json_array_get(json_object_get(plan, "warnings"), 0);
	assert_string_equal(
		json_string_value(json_object_get(warning, "message")),
		"has no effect where it is no directive: each of its lines begins with # and the name of the directive");
	json_decref(plan);
	assert_null(staged("BB_LUA", BASH "true\n", (const char *const[]){"--bb=one", "--strict", NULL}, &problems));
	assert_int_equal(problems.count, 1);
	assert_string_equal(problems.list[0].option, "--bb");
	translate_problems_free(&problems);
}

/* Requests of directives for space of a pool. */
static void pools(void **state)
{
	static const struct {
		const char *script, *pool;
		json_int_t capacity;
		int line;
	} cases[] = {
		{BASH "#BB_LUA pool=fast\n", NULL, 0, 0},
		{BASH "#BB_LUA %a %A\n#ROTA step x --array=0-3\n", NULL, 0, 0},
		{BASH "#BB_LUA xpool=a mycapacity=1\n", NULL, 0, 0},
		{BASH "#BB_LUA pool=fast capacity=1\n", "fast", 1, 2},
		{BASH "#BB_LUA\tcapacity=2k\tx=y  pool=fast\n", "fast", 2048, 2},
		{BASH "#BB_LUA pool=a capacity=1KB\n", "a", 1000, 2},
		{BASH "#BB_LUA pool=a capacity=3MiB\n", "a", 3 << 20, 2},
		{BASH "#BB_LUA pool=a capacity=2TB\n", "a", 2000000000000, 2},
		{BASH "#BB_LUA pool=a capacity=1P\n", "a", (json_int_t)1 << 50, 2},
		{BASH "#BB_LUA pool=a \\\n#BB_LUA capacity=1G\n", "a", 1 << 30, 2},
		{BASH "#BB_LUA pool=a capacity=1\n#BB_LUA pool=c\n#BB_LUA pool=b capacity=2\n", "b", 3, 4},
	};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct translate_problems problems;
		json_t *plan = staged("BB_LUA", cases[i].script, NULL, &problems);
		if (!plan)
			fail_msg("%s: %s", cases[i].script, problems.list[0].message);
		const json_t *staging = pick(plan, "job/staging");
		const char *pool = json_string_value(json_object_get(staging, "pool"));
		if (!pool != !cases[i].pool || (pool && strcmp(pool, cases[i].pool) != 0) ||
		    json_integer_value(json_object_get(staging, "capacity")) != cases[i].capacity ||
		    json_integer_value(json_object_get(staging, "line")) != cases[i].line)
			fail_msg("%s: \"%s\"", cases[i].script, pool);
		json_decref(plan);
	}
}

static void refused(void **state)
{
	char *large = xmalloc(70100), *option = xmalloc(70100);
	struct {
		const char *directive, *script, *options[2], *message;
		int line;
	} cases[] = {
		{"BB_LUA",
		 BASH "#BB_LUA a%%b%a\n#ROTA step x --array=0-3\n#ROTA step y\n",
		 {NULL},
		 "several steps is staged once",
		 3},
		{"BB_LUA",
		 BASH "#BB_LUA %A\n#ROTA step x --array=0-3\n#ROTA step y\n",
		 {NULL},
		 "several steps is staged once",
		 3},
		{"BB_LUA", BASH "\n#BB_LUA a capacity=1G\n", {NULL}, "capacity=1G names no pool", 3},
		{"BB_LUA", BASH "#BB_LUA pool=fast\n#BB_LUA capacity=1G\n", {NULL}, "names no pool", 3},
		{"BB_LUA", BASH "#BB_LUA pool= capacity=1G\n", {NULL}, "names no pool", 2},
		{"BB_LUA", BASH "#BB_LUA pool=fast capacity=0\n", {NULL}, "capacity=0 of pool \"fast\" is no size", 2},
		{"BB_LUA", BASH "#BB_LUA pool=fast capacity=\n", {NULL}, "is no size", 2},
		{"BB_LUA", BASH "#BB_LUA pool=fast capacity=-1\n", {NULL}, "is no size", 2},
		{"BB_LUA", BASH "#BB_LUA pool=fast capacity=1.5G\n", {NULL}, "is no size", 2},
		{"BB_LUA", BASH "#BB_LUA pool=fast capacity=1Gx\n", {NULL}, "is no size", 2},
		{"BB_LUA", BASH "#BB_LUA pool=fast capacity=1X\n", {NULL}, "is no size", 2},
		{"BB_LUA", BASH "#BB_LUA pool=fast capacity=5000P\n", {NULL}, "is too large", 2},
		{"BB_LUA", BASH "#BB_LUA pool=fast capacity=4000P\n#BB_LUA pool=a capacity=4000P\n", {NULL}, "is too large", 3},
		{"BB_LUA", BASH "true\n", {"--bb=#BB_LUA capacity=1G"}, "names no pool", 0},
		{"", BASH "true\n", {"--bb=#BB_LUA a"}, "has no burst_buffer.lua", 0},
		{"BB_LUA", BASH "true\n", {"--bb=#BB_LUA \033a"}, "without control characters", 0},
		{"BB_LUA", BASH "true\n", {option}, "at most 65536", 0},
		{"BB_LUA", large, {NULL}, "have 70007 bytes", 2},
	};
	(void)state;
	sprintf(large, BASH "#BB_LUA %069999d\n", 0);
	sprintf(option, "--bb=#BB_LUA %069999d", 0);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct translate_problems problems;
		assert_null(staged(cases[i].directive, cases[i].script, cases[i].options, &problems));
		if (!strstr(problems.list[0].message, cases[i].message) || problems.list[0].line != cases[i].line)
			fail_msg("case %zu: %d: %s", i, problems.list[0].line, problems.list[0].message);
		translate_problems_free(&problems);
	}
	free(large);
	free(option);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(head), cmocka_unit_test(names), cmocka_unit_test(command_line),
					   cmocka_unit_test(pools), cmocka_unit_test(refused)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
