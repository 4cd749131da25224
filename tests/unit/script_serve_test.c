/* script_serve_test.c - the library and the sandbox of a site's scripts: what a script can compute, and that a stop at any moment leaves
 * nothing broken. */
#include "tests/unit/unit.h"

#include <jansson.h>
#include <stdbool.h>

#include "lib/err.h"
#include "runner/lua/script_limit.h"
#include "runner/lua/script_serve.h"

static struct script_bounds bounds;
static struct script_server *server;
static char *file; /* the path of the script job_submit */

static int set_up(void **state)
{
	bounds = (struct script_bounds){.instructions = 10000000, .memory = 16 << 20, .seconds = 10, .cluster = "demo"};
	script_limit_open();
	if (unit_folder_make(state))
		return -1;
	file = xstrdup(unit_path("a.lua"));
	server = script_server_new(&(struct script_paths){.job_submit = file}, &bounds);
	return 0;
}

static int tear_down(void **state)
{
	script_server_free(server);
	free(file);
	return unit_folder_remove(state);
}

/* Write the script: a function that executes `body`, with the job as `desc`. */
static void script_is(const char *body)
{
	FILE *new = fopen(unit_path("new.lua"), "w");

	assert_non_null(new);
	fprintf(new, "function slurm_job_submit(desc, parts, uid)\n%s\nend\n", body);
	fclose(new);
	assert_int_equal(rename(unit_path("new.lua"), file), 0);
}

/* Call the function with this job. */
static json_t *call_with(const char *desc)
{
	char *line = xasprintf("job_submit slurm_job_submit {\"desc\":%s}", desc);
	char *text = script_server_answer(server, line, strlen(line));
	json_t *answer = json_loads(text, 0, NULL);

	assert_non_null(answer);
	free(text);
	free(line);
	return answer;
}

static void answer_is(const char *body, const char *desc, const char *expected)
{
	json_t *answer, *wanted = json_loads(expected, 0, NULL), *value;
	const char *key;

	assert_non_null(wanted);
	script_is(body);
	answer = call_with(desc);
	json_object_foreach (wanted, key, value) {
		if (!json_equal(json_object_get(answer, key), value))
			fail_msg("%s: %s is not %s", body, json_dumps(answer, 0), expected);
	}
	json_decref(answer);
	json_decref(wanted);
}

static void test_minutes(void **state)
{
	static const struct {
		const char *text, *value;
	} cases[] = {
		{"90", "90"},
		{"1:30", "2"},
		{"1:00:00", "60"},
		{"2-0", "2880"},
		{"1-1:30", "1530"},
		{"1-1:30:01", "1531"},
		{"0", "0"},
		{"x", "4294967294"},
		{"", "4294967294"},
		{"1-", "4294967294"},
		{"1:2:3:4", "4294967294"},
		{"-5", "4294967294"},
		{"UNLIMITED", "4294967295"},
		{"infinite", "4294967295"},
		{"99999999999999", "4294967294"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char *expected = xasprintf("{\"rc\":%s}", cases[i].value);
		char *body = xasprintf("return slurm.time_str2mins('%s')", cases[i].text);

		answer_is(body, "{}", expected);
		free(body);
		free(expected);
	}
}

static void test_changes(void **state)
{
	(void)state;
	answer_is("", "{\"a\":1,\"b\":[],\"c\":[1,2.5,\"x\"],\"d\":{\"e\":1.0},\"f\":null}", "{\"rc\":0,\"changes\":{}}");
	answer_is("",
		  "{\"a\":[1,null,2],\"b\":[null],\"c\":[1,null],\"d\":[{\"e\":null,\"f\":[]}],\"g\":[[null,1.0]],\"h\":{\"i\":"
		  "null}}",
		  "{\"changes\":{}}");
	answer_is("desc.a = 9007199254740993 desc.b[2] = 1", "{\"a\":9007199254740992,\"b\":[1,null,2]}",
		  "{\"changes\":{\"a\":9007199254740993,\"b\":[1,1,2]}}");
	answer_is("desc['a\\0b'] = 1", "{}", "{\"error\":\"a key is neither a text nor a number, or has a byte 0\"}");
	answer_is("desc.a = desc.a + 1 desc.b = nil desc.c[2] = 3 desc.d.e = nil desc.g = {h = {}}",
		  "{\"a\":1,\"b\":\"x\",\"c\":[1,2],\"d\":{\"e\":1,\"i\":2}}",
		  "{\"changes\":{\"a\":2,\"b\":null,\"c\":[1,3],\"d\":{\"e\":null},\"g\":{\"h\":{}}}}");
	answer_is("desc.time_limit = slurm.NO_VAL desc.min_nodes = slurm.NO_VAL desc.pn_min_memory = slurm.NO_VAL64 desc.x = "
		  "slurm.NO_VAL",
		  "{\"time_limit\":5}", "{\"changes\":{\"time_limit\":null,\"x\":4294967294}}");
	answer_is("return desc.shared == slurm.NO_VAL16 and desc.overcommit == slurm.NO_VAL8 and desc.name == nil and 0 or 1",
		  "{}", "{\"rc\":0}");
}

static void test_messages(void **state)
{
	(void)state;
	answer_is("slurm.log_info('%d%%', 5) slurm.log_error('100%') slurm.log_debug2('a\\27b\\255') slurm.log(1, 'v') "
		  "print('x', 1) slurm.error('e')",
		  "{}",
		  "{\"log\":[{\"level\":\"info\",\"text\":\"5%\"},{\"level\":\"error\",\"text\":\"100%\"},{\"level\":\"debug\","
		  "\"text\":\"a?b?\"},"
		  "{\"level\":\"verbose\",\"text\":\"v\"},{\"level\":\"info\",\"text\":\"x\\t1\"},{\"level\":\"error\",\"text\":"
		  "\"e\"}],\"user\":[]}");
	answer_is("rota.log_user('%s', 'a') slurm.user_msg('50%') return 2051, 'm'", "{}",
		  "{\"user\":[\"a\",\"50%\"],\"rc\":2051,\"message\":\"m\"}");
	answer_is("return slurm.CLUSTER_NAME == 'demo' and slurm.ESLURM_INVALID_PARTITION_NAME", "{}", "{\"rc\":2000}");
	answer_is("return slurm.ESLURM_BAD_THREAD_PER_CORE", "{}", "{\"rc\":2132}");
	answer_is("return slurm.no_such_function == nil and slurm[1] == nil and 0 or 1", "{}", "{\"rc\":0}");
	answer_is(
		"return slurm.EROR", "{}",
		"{\"error\":\"function slurm_job_submit returned nil after it read slurm.EROR, which does not exist; correct the "
		"name\"}");
	answer_is("if slurm.ESLURM_NOTHING then return 1 end return slurm.SUCCESS", "{}", "{\"rc\":0}");
	answer_is("return slurm.ESLURM_NOTHING or 7", "{}", "{\"rc\":7}");
	answer_is("for _ in pairs(slurm.reservations) do return 1 end slurm.jobs.x = 1 return slurm.jobs.x == nil and "
		  "getmetatable(slurm) == false and 0 or 1",
		  "{}", "{\"rc\":0}");
}

static void test_json(void **state)
{
	(void)state;
	answer_is("return slurm.from_yaml(slurm.to_yaml({a = 5})).a", "{}", "{\"rc\":5}");
	answer_is("local t = slurm.from_json('{\"a\":[1,{\"b\":null}],\"c\":\"x\"}') return t.a[1] == 1 and t.a[2].b == nil and "
		  "t.c == 'x' and 0 or 1",
		  "{}", "{\"rc\":0}");
	answer_is("return slurm.to_json({1, {x = true}, 'a'}) == '[1,{\"x\":true},\"a\"]' and 0 or 1", "{}", "{\"rc\":0}");
	answer_is("local v, why = slurm.json_decode('{') return v == nil and why:find('not JSON') and 0 or 1", "{}",
		  "{\"rc\":0}");
	answer_is("local v, why = slurm.json_encode(print) return v == nil and why:find('function') and 0 or 1", "{}",
		  "{\"rc\":0}");
}

/* A new version of the file is used at once, also if it has the same size. */
static void test_replaced(void **state)
{
	(void)state;
	for (int i = 0; i < 10; i++) {
		char *body = xasprintf("return %d", i), *expected = xasprintf("{\"rc\":%d}", i);

		answer_is(body, "{}", expected);
		free(body);
		free(expected);
	}
}

/* Lines that are no requests, and requests for scripts that do not exist. */
static void test_no_requests(void **state)
{
	static const char *const lines[] = {"",
					    "job_submit",
					    "job_submit slurm_job_submit",
					    "job_submit slurm_job_submit ",
					    "job_submit slurm_job_submit {",
					    "job_submit pcall {\"desc\":{}}",
					    "burst_buffer slurm_bb_setup {}",
					    " slurm_job_submit {\"desc\":{}}",
					    "job_submit_and_a_name_that_is_too_long slurm_job_submit {\"desc\":{}}"};

	(void)state;
	script_is("");
	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
		char *text = script_server_answer(server, lines[i], strlen(lines[i]));

		if (strncmp(text, "{\"error\":", 9) != 0)
			fail_msg("%s: %s", lines[i], text);
		free(text);
	}
	answer_is("", "{}", "{\"rc\":0}");
}

/* Stop, at many moments, functions that execute no Lua instructions: the handler of the alarm must leave them. */
static void test_stopped_anywhere(void **state)
{
	static const char *const bodies[] = {
		"table.move(setmetatable({}, {__index = slurm.json_encode}), 1, 1e15, 1, {})",
		"table.move(setmetatable({}, {__index = print}), 1, 1e15, 1, {})",
		"table.concat(setmetatable({}, {__index = slurm.json_encode, __len = function() return 1e15 end}))",
		"return ('a'):rep(30):find(('a?'):rep(30) .. ('a'):rep(30))",
		"local t = {} for i = 1, 1e9 do t[i % 1000] = os.date('%c', i) .. string.format('%99.99f', 1e308) end",
	};
	enum { BODIES = sizeof bodies / sizeof *bodies, ROUNDS = 20 };

	(void)state;
	bounds.instructions = 1000000000;
	for (int i = 0; i < BODIES * ROUNDS; i++) {
		json_t *answer;
		const char *error;

		bounds.seconds = 0.001 + 0.000137 * (i % 29);
		script_is(bodies[i % BODIES]);
		answer = call_with("{}");
		error = json_string_value(json_object_get(answer, "error"));
		if (!error || (!strstr(error, "the script took longer than") && !strstr(error, "of memory needed")))
			fail_msg("%s: %s", bodies[i % BODIES], json_dumps(answer, 0));
		json_decref(answer);
		bounds.seconds = 10;
		answer_is("return os.time({year = 2020, month = 1, day = 1}) > 0 and slurm.json_encode({1}) == '[1]' and 0 or 1",
			  "{}", "{\"rc\":0}");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_minutes, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_changes, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_messages, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_json, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_replaced, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_no_requests, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_stopped_anywhere, set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
