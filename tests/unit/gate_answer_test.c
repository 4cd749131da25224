/* gate_answer_test.c - SQLSTATEs as HTTP statuses, errors as JSON, members of a JSON text. */
#include "tests/unit/unit.h"

#include <jansson.h>

#include "jobmgr/gate/gate_answer.h"

static void statuses(void **state)
{
	static const struct {
		const char *code;
		int status;
	} cases[] = {
		{"RT404", 404}, {"RT403", 403}, {"RT409", 409}, {"RT422", 422}, {"RT429", 429}, {"RT412", 412}, {"RT401", 401},
		{"22P02", 422}, {"23514", 422}, {"08006", 503}, {"08003", 503}, {"57P01", 503}, {"57014", 504}, {"53300", 503},
		{"40001", 503}, {"42883", 500}, {"XX000", 500}, {"", 500},	{"RT", 500},	{"RT200", 500}, {"RTxyz", 500},
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		assert_int_equal(gate_answer_status(cases[i].code), cases[i].status);
		assert_true(strlen(gate_answer_reason(gate_answer_status(cases[i].code))) > 0);
	}
}

static void refusals(void **state)
{
	struct err e;

	(void)state;
	assert_false(gate_refuse(&e, "RT404", "no \"%s\"", "x"));
	assert_string_equal(e.code, "RT404");
	assert_string_equal(e.message, "no \"x\"");
	assert_string_equal(e.hint, "");
}

static json_t *error_of(const struct err *e, json_t *problems)
{
	char *text = gate_answer_error(e, problems);
	json_t *root = json_loads(text, 0, NULL), *error = json_incref(json_object_get(root, "error"));

	assert_int_equal(json_object_size(root), 1);
	json_decref(root);
	free(text);
	return error;
}

static void texts(void **state)
{
	struct err e;
	json_t *error;

	(void)state;
	gate_refuse(&e, "RT422", "line \"1\"\nis bad");
	error = error_of(&e, json_pack("[i]", 7));
	assert_string_equal(json_string_value(json_object_get(error, "code")), "RT422");
	assert_string_equal(json_string_value(json_object_get(error, "message")), "line \"1\"\nis bad");
	assert_true(json_is_null(json_object_get(error, "hint")));
	assert_int_equal(json_array_size(json_object_get(error, "problems")), 1);
	json_decref(error);

	err_hint(&e, "do that");
	error = error_of(&e, NULL);
	assert_string_equal(json_string_value(json_object_get(error, "hint")), "do that");
	assert_null(json_object_get(error, "problems"));
	json_decref(error);
}

/* The client gets an answer even if a message is cut within a character or is not UTF-8. */
static void not_utf8(void **state)
{
	struct err e;
	json_t *error;

	(void)state;
	gate_refuse(&e, "RT422", "name \"%s\"", "\xff\xc3");
	error = error_of(&e, NULL);
	assert_string_equal(json_string_value(json_object_get(error, "message")), "name \"??\"");
	json_decref(error);

	err_set(&e, "no code");
	error = error_of(&e, NULL);
	assert_string_equal(json_string_value(json_object_get(error, "code")), "RT500");
	json_decref(error);
}

/* A member of the outermost object is found, not one of the same name deeper inside or in a text. */
static void members(void **state)
{
	static const struct {
		const char *text, *value; /* NULL: the member is absent */
	} cases[] = {
		{"{\"done\": false, \"jobs\": []}", "false, "},
		{"{\"jobs\": [{\"done\": false}], \"done\": true}", "true"},
		{"{\"jobs\": {\"done\": false}}", NULL},
		{"{\"name\": \"done\", \"cause\": \"\\\"done\\\": false\"}", NULL},
		{"{\"name\": \"x\\\\\", \"done\": 1}", "1"},
		{"{\"a\": \"}\", \"done\" :\n\"x\"}", "\"x\""},
		{"{\"undone\": 1, \"done2\": 2, \"don\": 3}", NULL},
		{"[\"done\", false]", NULL},
		{"[{\"done\": false}]", NULL},
		{"\"done\"", NULL},
		{"{\"done", NULL},
		{"{\"a\\", NULL},
		{"", NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const char *value = gate_answer_member(cases[i].text, "done");

		assert_int_equal(value != NULL, cases[i].value != NULL);
		if (value)
			assert_memory_equal(value, cases[i].value, strlen(cases[i].value));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(statuses), cmocka_unit_test(members),	cmocka_unit_test(refusals),
		cmocka_unit_test(texts),    cmocka_unit_test(not_utf8),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
