/* gate_request_test.c - parsing a request, from a query or a body. */
#include "tests/unit/unit.h"

#include "jobmgr/gate/gate_request.h"

/* The request to which a query is parsed, as compact text with sorted keys; NULL: refused. */
static char *query_text(const char *query)
{
	struct err e = {0};
	json_t *object = gate_request_parse_query(query, &e);
	char *text = object ? json_dumps(object, JSON_COMPACT | JSON_SORT_KEYS) : NULL;

	if (!object)
		assert_string_equal(e.code, "RT400");
	json_decref(object);
	return text;
}

static void queries(void **state)
{
	static const struct {
		const char *query, *text;
	} cases[] = {
		{NULL, "{}"},
		{"", "{}"},
		{"jobs=812", "{\"jobs\":\"812\"}"},
		{"jobs=812.solve%5B7%5D&limit=5", "{\"jobs\":\"812.solve[7]\",\"limit\":\"5\"}"},
		{"state=a&state=b&state=c", "{\"state\":[\"a\",\"b\",\"c\"]}"},
		{"name=a+b%20c", "{\"name\":\"a b c\"}"},
		{"user=", "{\"user\":\"\"}"},
		{"user", NULL},
		{"=x", NULL},
		{"name=%ff", NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char *text = query_text(cases[i].query);

		assert_string_equal(text ? text : "refused", cases[i].text ? cases[i].text : "refused");
		free(text);
	}
}

static void bodies(void **state)
{
	static const struct {
		const char *body;
		size_t size;
		bool good;
	} cases[] = {
		{"", 0, true},
		{"{}", 2, true},
		{"{\"a\":[1]}", 9, true},
		{"[]", 2, false},
		{"1", 1, false},
		{"{\"a\":1,\"a\":2}", 13, false},
		{"{\"a\":1} x", 9, false},
		{"{\"a\":\"\\u0000\"}", 14, false},
		{"{\"a\":\"\0\"}", 9, false},
		{"{\"a\":\"\xff\"}", 9, false},
		{"{", 1, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct err e = {0};
		json_t *object = gate_request_parse_body(cases[i].body, cases[i].size, &e);

		assert_int_equal(object != NULL, cases[i].good);
		assert_string_equal(e.code, cases[i].good ? "" : "RT400");
		json_decref(object);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(queries),
		cmocka_unit_test(bodies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
