/* gate_route.c - the table of verbs (route.def) and the two ways to write a request, query and body.
 *
 * gate_intake.c calls it for each request. What always holds: a request that gets past here is a JSON object without a NUL and
 * without a member given twice, so that every api function sees what the client wrote. */
#include "jobmgr/gate/gate_route.h"

#include <event2/http.h>
#include <event2/keyvalq_struct.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "jobmgr/gate/gate_answer.h"
#include "jobmgr/gate/gate_job.h"
#include "lib/nearest.h"

static const char prefix[] = "/v1/";

static const struct gate_route routes[] = {
#define ROUTE(verb, function, flags, members, help) {#verb, API_##function, flags, members, help},
#include "jobmgr/gate/route.def"
#undef ROUTE
};

enum {
	ROUTE_COUNT = sizeof routes / sizeof *routes,
	BODY_VALUES = 200000
};

const struct gate_route *gate_route_find(const char *path, struct err *e)
{
	const char *verb = path + strlen(prefix);
	struct nearest nearest;

	if (strncmp(path, prefix, strlen(prefix)) != 0) {
		gate_refuse(e, "RT404", "there is nothing at \"%.100s\"", path);
		err_hint(e, "Verbs are below \"%s\"; GET %s lists them.", prefix, prefix);
		return NULL;
	}
	for (int i = 0; i < ROUTE_COUNT; i++) {
		if (strcmp(verb, routes[i].verb) == 0)
			return &routes[i];
	}
	gate_refuse(e, "RT404", "unknown verb \"%.100s\"", verb);
	nearest = (struct nearest)NEAREST(verb);
	for (int i = 0; i < ROUTE_COUNT; i++)
		nearest_try(&nearest, routes[i].verb);
	if (nearest.best)
		err_hint(e, "Perhaps you mean \"%s\".", nearest.best);
	else
		err_hint(e, "GET %s lists the verbs.", prefix);
	return NULL;
}

json_t *gate_route_list(void)
{
	json_t *verbs = json_array();

	for (int i = 0; i < ROUTE_COUNT; i++)
		json_array_append_new(verbs, json_pack("{s:s, s:s, s:s, s:s}", "verb", routes[i].verb, "methods",
						       routes[i].flags & GATE_READ ? "GET, POST" : "POST", "members",
						       routes[i].members, "help", routes[i].help));
	return json_pack("{s:o}", "verbs", verbs);
}

/* Put one parameter into the object; false where it is not UTF-8. */
static bool query_add(json_t *object, const char *name, const char *text)
{
	json_t *value = json_string(text), *old = json_object_get(object, name);

	if (!value)
		return false;
	if (json_is_array(old))
		return json_array_append_new(old, value) == 0;
	if (old)
		value = json_pack("[O, o]", old, value);
	return json_object_set_new(object, name, value) == 0; /* refuses a name that is not UTF-8 */
}

json_t *gate_request_query(const char *query, struct err *e)
{
	struct evkeyvalq parameters;
	struct evkeyval *parameter;
	json_t *object = json_object();
	bool good = true;

	if (!query || !*query)
		return object;
	if (evhttp_parse_query_str(query, &parameters) != 0) {
		json_decref(object);
		gate_refuse(e, "RT400", "malformed query \"%.200s\"", query);
		err_hint(e, "Write name=value, joined by \"&\".");
		return NULL;
	}
	TAILQ_FOREACH(parameter, &parameters, next)
	good = good && query_add(object, parameter->key, parameter->value);
	evhttp_clear_headers(&parameters);
	if (good)
		return object;
	json_decref(object);
	gate_refuse(e, "RT400", "the query is not UTF-8");
	return NULL;
}

/* How many values a text of JSON has at most: commas outside of strings. Each takes many times the memory of its text. */
static int body_values(const char *body, size_t size)
{
	bool inside = false;
	int count = 1;

	for (size_t i = 0; i < size; i++) {
		if (inside && body[i] == '\\')
			i++;
		else if (body[i] == '"')
			inside = !inside;
		else if (!inside && body[i] == ',' && ++count > BODY_VALUES)
			break;
	}
	return count;
}

json_t *gate_request_body(const char *body, size_t size, struct err *e)
{
	json_error_t error;
	json_t *object;

	if (size == 0)
		return json_object();
	if (body_values(body, size) > BODY_VALUES) {
		gate_refuse(e, "RT413", "the body has more than %d values", BODY_VALUES);
		return NULL;
	}
	object = json_loadb(body, size, JSON_REJECT_DUPLICATES, &error);
	if (!object) {
		gate_refuse(e, "RT400", "the body is not JSON: line %d: %s", error.line, error.text);
		return NULL;
	}
	if (!json_is_object(object)) {
		json_decref(object);
		gate_refuse(e, "RT400", "the body is not a JSON object");
		return NULL;
	}
	return object;
}
