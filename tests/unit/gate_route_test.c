/* gate_route_test.c - the verbs of the HTTP API. */
#include "tests/unit/unit.h"

#include "jobmgr/gate/gate_route.h"

static void known_verbs(void **state)
{
	json_t *list = gate_route_list(), *verb;
	struct err e;
	size_t i;

	(void)state;
	assert_true(json_array_size(json_object_get(list, "verbs")) >= 18);
	json_array_foreach (json_object_get(list, "verbs"), i, verb) {
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_verbs),
		cmocka_unit_test(unknown_verbs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
