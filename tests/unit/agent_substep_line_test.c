/* agent_substep_line_test.c - lines of a step manager's journal: those that become rows, and those that no step manager writes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "procmgr/agent/agent_substep_line.h"

static const struct record_key key = {812, 3, 2, 0};

static enum agent_substep_taken add(struct agent_substep_rows *r, const char *line)
{
	return agent_substep_rows_add(r, line, strlen(line));
}

static struct agent_substep_rows *rows_of(int most)
{
	struct agent_substep_rows *r = agent_substep_rows_new(most);
	agent_substep_rows_begin(r, &key);
	return r;
}

static const char *row_text(const struct agent_substep_rows *r, size_t i, const char *name)
{
	return json_string_value(json_object_get(json_array_get(agent_substep_rows_json(r), i), name));
}

static json_int_t row_int(const struct agent_substep_rows *r, size_t i, const char *name)
{
	return json_integer_value(json_object_get(json_array_get(agent_substep_rows_json(r), i), name));
}

static void test_takes_the_last_call(void **state)
{
	(void)state;
	struct agent_substep_rows *r = rows_of(10);
	assert_int_equal(add(r, "{\"kind\":\"call\",\"at\":1,\"port\":7000,\"keys\":{\"n2\":\"aa\"}}"), AGENT_SUBSTEP_TAKEN);
	assert_int_equal(add(r, "{\"kind\":\"call\",\"at\":2,\"port\":7001,\"keys\":{\"n2\":\"bb\"}}"), AGENT_SUBSTEP_TAKEN);
	assert_int_equal(add(r, "{\"kind\":\"call\",\"at\":2,\"port\":0,\"keys\":{}}"), AGENT_SUBSTEP_BAD);
	assert_int_equal(add(r, "{\"kind\":\"call\",\"at\":2,\"port\":70000,\"keys\":{}}"), AGENT_SUBSTEP_BAD);
	assert_int_equal(add(r, "{\"kind\":\"call\",\"at\":2,\"port\":7000,\"keys\":[]}"), AGENT_SUBSTEP_BAD);
	assert_int_equal(add(r, "{\"kind\":\"call\",\"at\":2,\"port\":7000,\"keys\":{\"n2\":3}}"), AGENT_SUBSTEP_BAD);
	assert_int_equal(agent_substep_rows_count(r), 1);
	const json_t *call = json_array_get(agent_substep_rows_calls(r), 0);
	assert_int_equal(json_integer_value(json_object_get(call, "job")), 812);
	assert_int_equal(json_integer_value(json_object_get(call, "port")), 7001);
	agent_substep_rows_free(r);
	r = rows_of(10);
	assert_int_equal(add(r, "{\"kind\":\"join\",\"at\":0}"), AGENT_SUBSTEP_TAKEN);
	assert_int_equal(add(r, "{\"kind\":\"join\",\"at\":0}"), AGENT_SUBSTEP_SKIPPED);
	assert_true(json_is_true(json_object_get(json_array_get(agent_substep_rows_calls(r), 0), "join")));
	agent_substep_rows_free(r);
	/* Records of growths are beside the call, one for each. */
	r = rows_of(10);
	assert_int_equal(add(r, "{\"kind\":\"call\",\"at\":1,\"port\":7000,\"keys\":{\"n2\":\"aa\"}}"), AGENT_SUBSTEP_TAKEN);
	assert_int_equal(add(r, "{\"kind\":\"grow\",\"at\":1,\"port\":7000,\"growth\":\"9.0.1\",\"node\":\"n3\",\"key\":\"bb\"}"),
			 AGENT_SUBSTEP_TAKEN);
	assert_int_equal(add(r, "{\"kind\":\"shrink\",\"at\":1,\"growth\":\"9.0.1\",\"node\":\"n3\"}"), AGENT_SUBSTEP_TAKEN);
	assert_int_equal(add(r, "{\"kind\":\"call\",\"at\":2,\"port\":7001,\"keys\":{}}"), AGENT_SUBSTEP_TAKEN);
	assert_int_equal(add(r, "{\"kind\":\"grow\",\"at\":1,\"growth\":\"9.0.1\",\"node\":\"n3\",\"key\":\"bb\"}"),
			 AGENT_SUBSTEP_BAD);
	assert_int_equal(add(r, "{\"kind\":\"grow\",\"at\":1,\"port\":7000,\"node\":\"n3\",\"key\":\"bb\"}"), AGENT_SUBSTEP_BAD);
	assert_int_equal(add(r, "{\"kind\":\"shrink\",\"at\":1,\"growth\":9,\"node\":\"n3\"}"), AGENT_SUBSTEP_BAD);
	assert_int_equal(add(r, "{\"kind\":\"shrink\",\"at\":1,\"growth\":\"9.0.1\"}"), AGENT_SUBSTEP_BAD);
	assert_int_equal(agent_substep_rows_count(r), 3);
	assert_int_equal(json_integer_value(json_object_get(json_array_get(agent_substep_rows_calls(r), 0), "port")), 7001);
	assert_string_equal(json_string_value(json_object_get(json_array_get(agent_substep_rows_calls(r), 2), "on")), "n3");
	/* A line without a growth is about a node of the step itself. */
	assert_int_equal(add(r, "{\"kind\":\"shrink\",\"at\":1,\"node\":\"n2\"}"), AGENT_SUBSTEP_TAKEN);
	json_t *own = json_array_get(agent_substep_rows_calls(r), 3);
	assert_string_equal(json_string_value(json_object_get(own, "on")), "n2");
	assert_null(json_object_get(own, "growth"));
	agent_substep_rows_free(r);
}

static void test_coalesces_lines(void **state)
{
	(void)state;
	struct agent_substep_rows *r = rows_of(10);
	assert_int_equal(
		add(r, "{\"kind\":\"queue\",\"substep\":7,\"at\":100,\"name\":\"solve\",\"command\":\"./solve\",\"ntasks\":4,"
		       "\"env\":3,\"priority\":-5}"),
		AGENT_SUBSTEP_TAKEN);
	assert_string_equal(row_text(r, 0, "state"), "waiting");
	assert_int_equal(add(r, "{\"kind\":\"start\",\"substep\":7,\"at\":200,\"run\":1,\"node\":\"n1\"}"), AGENT_SUBSTEP_TAKEN);
	assert_int_equal(add(r, "{\"kind\":\"start\",\"substep\":7,\"at\":300,\"run\":2,\"node\":\"n1\"}"), AGENT_SUBSTEP_TAKEN);
	assert_string_equal(row_text(r, 0, "state"), "running");
	assert_int_equal(
		add(r, "{\"kind\":\"end\",\"substep\":7,\"at\":400,\"state\":\"failed\",\"exit\":3,\"run\":2,\"rchar\":-1}"),
		AGENT_SUBSTEP_TAKEN);
	assert_int_equal(add(r, "{\"kind\":\"end\",\"substep\":7,\"at\":500,\"state\":\"completed\",\"exit\":0}"),
			 AGENT_SUBSTEP_TAKEN);
	assert_int_equal(agent_substep_rows_count(r), 1);
	assert_string_equal(row_text(r, 0, "state"), "failed");
	assert_string_equal(row_text(r, 0, "name"), "solve");
	assert_int_equal(row_int(r, 0, "queued_us"), 100);
	assert_int_equal(row_int(r, 0, "started_us"), 300);
	assert_int_equal(row_int(r, 0, "ended_us"), 400);
	assert_int_equal(row_int(r, 0, "run"), 2);
	assert_int_equal(row_int(r, 0, "exit"), 3);
	assert_int_equal(row_int(r, 0, "priority"), -5);
	agent_substep_rows_free(r);
}

static void test_names_only_its_attempt(void **state)
{
	(void)state;
	struct agent_substep_rows *r = rows_of(10);
	assert_int_equal(
		add(r, "{\"kind\":\"start\",\"substep\":1,\"at\":1,\"job\":9,\"step\":9,\"attempt\":9,\"state\":\"completed\"}"),
		AGENT_SUBSTEP_TAKEN);
	assert_int_equal(row_int(r, 0, "job"), 812);
	assert_int_equal(row_int(r, 0, "step"), 3);
	assert_int_equal(row_int(r, 0, "attempt"), 2);
	assert_string_equal(row_text(r, 0, "state"), "running");
	agent_substep_rows_free(r);
}

static void test_refuses_bad_lines(void **state)
{
	static const char *const lines[] = {
		"",
		"nonsense",
		"[]",
		"7",
		"{}",
		"{\"kind\":7}",
		"{\"kind\":\"start\"}",
		"{\"kind\":\"start\",\"substep\":1}",
		"{\"kind\":\"start\",\"substep\":0,\"at\":1}",
		"{\"kind\":\"start\",\"substep\":-1,\"at\":1}",
		"{\"kind\":\"start\",\"substep\":2147483648,\"at\":1}",
		"{\"kind\":\"start\",\"substep\":99999999999999999999,\"at\":1}",
		"{\"kind\":\"start\",\"substep\":1.5,\"at\":1}",
		"{\"kind\":\"start\",\"substep\":\"1\",\"at\":1}",
		"{\"kind\":\"start\",\"substep\":1,\"at\":\"now\"}",
		"{\"kind\":\"start\",\"substep\":1,\"at\":1,\"node\":7}",
		"{\"kind\":\"start\",\"substep\":1,\"substep\":2,\"at\":1}",
		"{\"kind\":\"start\",\"substep\":1,\"at\":1} trailing",
		"{\"kind\":\"queue\",\"substep\":1,\"at\":1,\"name\":\"a\\u0000b\"}",
		"{\"kind\":\"queue\",\"substep\":1,\"at\":1,\"name\":\"\xff\"}",
		"{\"kind\":\"end\",\"substep\":1,\"at\":1}",
		"{\"kind\":\"end\",\"substep\":1,\"at\":1,\"state\":\"running\"}",
		"{\"kind\":\"end\",\"substep\":1,\"at\":1,\"state\":\"completed\",\"rchar\":1e99}",
	};
	(void)state;
	struct agent_substep_rows *r = rows_of(10);
	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
		assert_int_equal(add(r, lines[i]), AGENT_SUBSTEP_BAD);
	assert_int_equal(agent_substep_rows_add(r, "{\"kind\":\"start\",\0\"substep\":1,\"at\":1}", 36), AGENT_SUBSTEP_BAD);
	assert_int_equal(add(r, "{\"kind\":\"env\",\"env\":"), AGENT_SUBSTEP_SKIPPED);
	assert_int_equal(add(r, "{\"substep\":1, \"kind\":\"task\"}"), AGENT_SUBSTEP_SKIPPED);
	assert_int_equal(agent_substep_rows_count(r), 0);
	agent_substep_rows_free(r);
}

static void test_cleans_texts(void **state)
{
	char line[4096] = "{\"kind\":\"queue\",\"substep\":1,\"at\":1,\"name\":\"a\\tb\\nc\\u001b[31m\\u202e\",\"command\":\"";
	(void)state;
	struct agent_substep_rows *r = rows_of(10);
	for (int i = 0; i < 1000; i++)
		strcat(line, "\xc3\xbc");
	assert_int_equal(add(r, strcat(line, "\"}")), AGENT_SUBSTEP_TAKEN);
	assert_string_equal(row_text(r, 0, "name"), "a b c?[31m???");
	assert_int_equal(strlen(row_text(r, 0, "command")), 512);
	agent_substep_rows_free(r);
}

static void test_takes_sessions(void **state)
{
	static const char *const bad[] = {
		"{\"kind\":\"session\",\"substep\":1}",
		"{\"kind\":\"session\",\"substep\":1,\"at\":1,\"name\":7}",
		"{\"kind\":\"session\",\"substep\":1,\"at\":1,\"key_at\":\"now\"}",
		"{\"kind\":\"session\",\"substep\":1,\"at\":1,\"attached\":{}}",
		"{\"kind\":\"session\",\"substep\":1,\"at\":1,\"attached\":[7]}",
		"{\"kind\":\"session\",\"substep\":1,\"at\":1,\"attached\":[{\"user\":\"a\",\"host\":\"h\"}]}",
	};
	char line[8192] = "{\"kind\":\"session\",\"substep\":2,\"at\":5,\"name\":\"work\",\"job\":9,\"key_at\":3,\"output_at\":4,"
			  "\"attached\":[";
	(void)state;
	struct agent_substep_rows *r = rows_of(10);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_int_equal(add(r, bad[i]), AGENT_SUBSTEP_BAD);
	for (int i = 0; i < 40; i++)
		sprintf(line + strlen(line), "%s{\"user\":\"ada\\n\",\"host\":\"h\",\"since\":1,\"more\":1}", i ? "," : "");
	assert_int_equal(add(r, strcat(line, "]}")), AGENT_SUBSTEP_TAKEN);
	const json_t *row = json_array_get(agent_substep_rows_json(r), 0), *people = json_object_get(row, "attached");
	assert_string_equal(row_text(r, 0, "session"), "work");
	assert_null(json_object_get(row, "state"));
	assert_null(json_object_get(row, "name"));
	assert_int_equal(json_integer_value(json_object_get(row, "session_us")), 5);
	assert_int_equal(json_array_size(people), 16);
	assert_string_equal(json_string_value(json_object_get(json_array_get(people, 0), "user")), "ada ");
	assert_null(json_object_get(json_array_get(people, 0), "more"));
	agent_substep_rows_free(r);
}

static void test_is_full(void **state)
{
	(void)state;
	struct agent_substep_rows *r = rows_of(2);
	assert_int_equal(add(r, "{\"kind\":\"start\",\"substep\":1,\"at\":1}"), AGENT_SUBSTEP_TAKEN);
	assert_int_equal(add(r, "{\"kind\":\"start\",\"substep\":4097,\"at\":1}"), AGENT_SUBSTEP_TAKEN);
	assert_true(agent_substep_rows_is_full(r));
	assert_int_equal(add(r, "{\"kind\":\"start\",\"substep\":3,\"at\":1}"), AGENT_SUBSTEP_FULL);
	assert_int_equal(add(r, "{\"kind\":\"end\",\"substep\":4097,\"at\":2,\"state\":\"skipped\"}"), AGENT_SUBSTEP_TAKEN);
	assert_string_equal(row_text(r, 0, "state"), "running");
	assert_string_equal(row_text(r, 1, "state"), "skipped");
	agent_substep_rows_free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_takes_the_last_call),
		cmocka_unit_test(test_coalesces_lines),
		cmocka_unit_test(test_names_only_its_attempt),
		cmocka_unit_test(test_refuses_bad_lines),
		cmocka_unit_test(test_cleans_texts),
		cmocka_unit_test(test_takes_sessions),
		cmocka_unit_test(test_is_full),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
