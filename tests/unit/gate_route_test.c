/* gate_route_test.c - verbs, and the two ways to write a request. */
#include "tests/unit/unit.h"

#include "jobmgr/gate/gate_route.h"

static void known_verbs(void **state)
{
	json_t *list = gate_route_list(), *verb;
	struct err e;
	size_t i;

	(void)state;
	assert_true(json_array_size(json_object_get(list, "verbs")) >= 18);
	json_array_foreach(json_object_get(list, "verbs"), i, verb)
	{
		const char *name = json_string_value(json_object_get(verb, "verb"));
		bool get = strncmp(json_string_value(json_object_get(verb, "methods")), "GET", 3) == 0;
		char path[64];
		const struct gate_route *route;

		snprintf(path, sizeof path, "/v1/%s", name);
		route = gate_route_find(path, &e);
		assert_non_null(route);
		assert_string_equal(route->verb, name);
		assert_int_equal(get, (route->flags & GATE_READ) != 0);
		assert_true(strlen(route->help) > 10);
	}
	json_decref(list);
	assert_int_equal(gate_route_find("/v1/submit", &e)->function, API_job_submit);
	assert_int_equal(gate_route_find("/v1/nodes", &e)->function, API_node_list);
}

static void unknown_verbs(void **state)
{
	static const struct {
		const char *path, *hint;
	} cases[] = {
		{"/v1/que", "\"queue\""},
		{"/v1/cnacel", "\"cancel\""},
		{"/v1/sttaus", "\"status\""},
		{"/v1/Submit", "\"submit\""},
		{"/v1/shwo", "\"show\""},
		{"/v1/xyzzyx", "GET /v1/"},
		{"/v1/", "GET /v1/"},
		{"/v2/queue", "\"/v1/\""},
		{"/", "\"/v1/\""},
		{"", "\"/v1/\""},
		{"/v1/queue/", "\"queue\""},
		{"/v1/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "GET /v1/"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct err e;

		assert_null(gate_route_find(cases[i].path, &e));
		assert_string_equal(e.code, "RT404");
		assert_non_null(strstr(e.hint, cases[i].hint));
	}
}

/* The request that a query makes, as compact text with sorted keys; NULL: refused. */
static char *query_text(const char *query)
{
	struct err e = {0};
	json_t *object = gate_request_query(query, &e);
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
		json_t *object = gate_request_body(cases[i].body, cases[i].size, &e);

		assert_int_equal(object != NULL, cases[i].good);
		assert_string_equal(e.code, cases[i].good ? "" : "RT400");
		json_decref(object);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_verbs),
		cmocka_unit_test(unknown_verbs),
		cmocka_unit_test(queries),
		cmocka_unit_test(bodies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
