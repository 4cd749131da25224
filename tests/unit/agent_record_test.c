/* agent_record_test.c - journal records as JSON, and orders as messages. */
#include "tests/unit/unit.h"

#include "procmgr/agent/agent_order_message.h"
#include "procmgr/agent/agent_record.h"

static const struct record_key key = {812, 3, 1, 0};

static struct fields *record_at(const char *kind, int64_t at)
{
	struct fields *f = fields_new();
	fields_add(f, "kind", kind);
	fields_add_int(f, "job", 812);
	fields_add_int(f, "step", 3);
	fields_add_int(f, "attempt", 1);
	fields_add_int(f, "at", at);
	return f;
}

static void is(json_t *json, const char *expected)
{
	json_error_t wrong;
	json_t *other = json_loads(expected, 0, &wrong);
	assert_non_null(other);
	assert_true(json_equal(json, other));
	json_decref(other);
	json_decref(json);
}

static void test_task(void **state)
{
	(void)state;
	struct fields *f = record_at("task", 1000);
	fields_add_int(f, "task", 0);
	fields_add_int(f, "exit", 3);
	fields_add(f, "cause", "exit");
	fields_add_int(f, "start_usec", 400);
	fields_add_int(f, "max_rss_kb", -1);
	fields_add_int(f, "signal", 0);
	fields_add_int(f, "minflt", 0);
	fields_add(f, "message", "");
	is(agent_record_json(f, 7), "{\"node\":7,\"kind\":\"task\",\"job\":812,\"step\":3,\"attempt\":1,\"at_us\":1000,"
				    "\"task\":0,\"exit\":3,\"cause\":\"exit\","
				    "\"started_us\":400,\"minflt\":0}");
	fields_free(f);
}

static void test_text(void **state)
{
	(void)state;
	struct fields *f = record_at("done", 2000);
	fields_add(f, "message", "caf\xc3\xa9 \"x\"");
	fields_add(f, "outcome", "12");
	is(agent_record_json(f, 7), "{\"node\":7,\"kind\":\"done\",\"job\":812,\"step\":3,\"attempt\":1,\"at_us\":2000,"
				    "\"message\":\"caf\xc3\xa9 \\\"x\\\"\",\"outcome\":\"12\"}");
	fields_free(f);
	f = record_at("done", 1500);
	fields_add(f, "message", "broken \xff\xfe");
	is(agent_record_json(f, 7), "{\"node\":7,\"kind\":\"done\",\"job\":812,\"step\":3,\"attempt\":1,\"at_us\":1500,"
				    "\"message\":\"broken ??\"}");
	fields_free(f);
}

static void test_pause(void **state)
{
	(void)state;
	struct fields *f = record_at("suspended", 1000);
	is(agent_record_json(f, 7), "{\"node\":7,\"kind\":\"suspended\",\"job\":812,\"step\":3,\"attempt\":1,\"at_us\":1000}");
	fields_free(f);
}

static void test_not_reported(void **state)
{
	(void)state;
	struct fields *f = record_at("refused", 1);
	fields_add(f, "reason", "the launch request was accepted before");
	fields_add_int(f, "again", 1);
	assert_null(agent_record_json(f, 7));
	fields_add_int(f, "gone", 1);
	json_t *gone = agent_record_json(f, 7);
	assert_string_equal(json_string_value(json_object_get(gone, "kind")), "gone");
	json_decref(gone);
	fields_free(f);
	f = record_at("refused", 1);
	fields_add_int(f, "again", 0);
	json_t *json = agent_record_json(f, 7);
	assert_non_null(json);
	json_decref(json);
	fields_free(f);
	f = record_at("used", 1);
	assert_null(agent_record_json(f, 7));
	fields_free(f);
	f = fields_new();
	fields_add(f, "kind", "done");
	assert_null(agent_record_json(f, 7));
	fields_free(f);
}

static void control_is(const char *kind, const char *args, const char *signal, const char *cause)
{
	struct err e;
	struct fields *f = agent_order_control(kind, &key, args, "", &e);
	assert_non_null(f);
	assert_string_equal(fields_get(f, "op"), "control");
	assert_string_equal(fields_get(f, "job"), "812");
	assert_string_equal(fields_get(f, "action"), kind);
	assert_string_equal(fields_get(f, "signal"), signal);
	assert_null(fields_get(f, "epilog"));
	assert_string_equal(fields_get(f, "cause"), cause);
	fields_free(f);
}

static void test_control(void **state)
{
	(void)state;
	struct err e;
	control_is("go", "", "0", "");
	control_is("kill", "{\"cause\":\"cancelled\"}", "0", "cancelled");
	control_is("end", "{\"epilog\":0}", "0", "");
	control_is("signal", "{\"signal\":12}", "12", "");
	control_is("signal", "{\"signal\":\"USR1\"}", "10", "");
	control_is("signal", "{\"signal\":\"SIGHUP\"}", "1", "");
	control_is("signal", "{\"signal\":\"15\"}", "15", "");
	struct fields *f = agent_order_control("limit", &key, "{\"time_limit_s\": 90}", "", &e);
	assert_string_equal(fields_get(f, "limit"), "90");
	assert_null(fields_get(f, "devices"));
	fields_free(f);
	f = agent_order_control("resume", &key, "{\"devices\": 5123456}", "", &e);
	assert_string_equal(fields_get(f, "devices"), "5123456");
	fields_free(f);
	assert_null(agent_order_control("kill", &key, "{", "", &e));
}

static bool adds(json_t *ready, int64_t node, const char *const *kinds, int count)
{
	struct fields *records[4];
	for (int i = 0; i < count; i++)
		records[i] = record_at(kinds[i], 1000 + i);
	bool added = agent_record_add_ready(ready, node, records, count);
	for (int i = 0; i < count; i++)
		fields_free(records[i]);
	return added;
}

/* An attempt is reported as ready if all its records say is that its keeper has started and is ready. */
static void test_ready(void **state)
{
	(void)state;
	static const char *const kinds[] = {"used", "keeper", "ready", "run"};
	json_t *ready = json_array();
	assert_true(adds(ready, 7, kinds, 3));
	assert_true(adds(ready, 5, kinds + 1, 2));
	assert_false(adds(ready, 6, kinds, 2));
	assert_false(adds(ready, 6, kinds, 4));
	assert_false(adds(ready, 6, kinds + 2, 1));
	is(ready, "[{\"job\":812,\"step\":3,\"attempt\":1,\"at_us\":1001,\"nodes\":[7,5]}]");
}

static bool coalesce(json_t *list, const char *const *kinds, int count)
{
	struct fields *records[8];
	for (int i = 0; i < count; i++) {
		records[i] = record_at(kinds[i], 1000 + i);
		fields_add_int(records[i], "pid", 70 + i);
		if (strcmp(kinds[i], "task") == 0)
			fields_add_int(records[i], "exit", 3);
		if (strcmp(kinds[i], "run") == 0)
			fields_add_int(records[i], "session", 9);
		if (strcmp(kinds[i], "end") == 0)
			fields_add_int(records[i], "peak_mb", 5);
	}
	bool coalesced = agent_record_add_coalesced(list, 7, records, count);
	for (int i = 0; i < count; i++)
		fields_free(records[i]);
	return coalesced;
}

/* Records are coalesced if they cover the whole course of the attempt, each kind once. */
static void test_coalesced(void **state)
{
	(void)state;
	static const char *const kinds[] = {"used", "keeper", "run", "task", "done", "end", "hook", "end"};
	static const char *const twice[] = {"task", "task", "done", "end"}, *const paused[] = {"suspended", "done", "end"};
	json_t *list = json_array();
	assert_false(coalesce(list, kinds, 5));
	assert_false(coalesce(list, kinds + 3, 1));
	assert_false(coalesce(list, kinds + 5, 1));
	assert_false(coalesce(list, kinds, 7));
	assert_false(coalesce(list, kinds + 4, 4));
	assert_false(coalesce(list, twice, 4));
	assert_false(coalesce(list, paused, 3));
	assert_true(coalesce(list, kinds, 6));
	assert_true(coalesce(list, kinds + 4, 2));
	is(list,
	   "[{\"kind\":\"life\",\"node\":7,\"job\":812,\"step\":3,\"attempt\":1,\"keeper_us\":1001,\"run_us\":1002,\"session\":9,"
	   "\"task\":{\"kind\":\"task\",\"node\":7,\"job\":812,\"step\":3,\"attempt\":1,\"at_us\":1003,\"pid\":73,\"exit\":3},"
	   "\"done_us\":1004,\"end_us\":1005,\"peak_mb\":5},"
	   "{\"kind\":\"life\",\"node\":7,\"job\":812,\"step\":3,\"attempt\":1,\"done_us\":1000,\"end_us\":1001,\"peak_mb\":5}]");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_task),	     cmocka_unit_test(test_text),    cmocka_unit_test(test_pause),
		cmocka_unit_test(test_not_reported), cmocka_unit_test(test_control), cmocka_unit_test(test_ready),
		cmocka_unit_test(test_coalesced),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
