/* gate_request.c - parses a request, from the query of a URI or from an HTTP body, and reads its members.
 *
 * Called by: gate_dispatch.c, which parses; the verbs, which read members.
 * Invariants:
 * - A parsed request is a JSON object without a NUL and without duplicate members, so each api function gets the values that the
 *   client wrote.
 * - A member that is null counts as absent. */
#include "jobmgr/gate/gate_request.h"

#include <event2/http.h>
#include <event2/keyvalq_struct.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "jobmgr/gate/gate_answer.h"
#include "lib/nearest.h"

enum { REQUEST_VALUES = 200000 };

/* Add a parameter of a URI's query to the request. Returns false if the parameter is not UTF-8. */
static bool request_add_parameter(json_t *object, const char *name, const char *text)
{
	json_t *value = json_string(text), *old = json_object_get(object, name);

	if (!value)
		return false;
	if (json_is_array(old))
		return json_array_append_new(old, value) == 0;
	if (old)
		value = json_pack("[O, o]", old, value);
	return json_object_set_new(object, name, value) == 0; /* json_object_set_new() fails for a name that is not UTF-8 */
}

json_t *gate_request_parse_query(const char *query, struct err *e)
{
	struct evkeyvalq parameters;
	struct evkeyval *parameter;
	json_t *object = json_object();
	bool is_valid = true;

	if (!query || !*query)
		return object;
	if (evhttp_parse_query_str(query, &parameters) != 0) {
		json_decref(object);
		gate_refuse(e, "RT400", "malformed query \"%.200s\"", query);
		err_hint(e, "Write name=value, joined by \"&\".");
		return NULL;
	}
	TAILQ_FOREACH (parameter, &parameters, next)
		is_valid = is_valid && request_add_parameter(object, parameter->key, parameter->value);
	evhttp_clear_headers(&parameters);
	if (is_valid)
		return object;
	json_decref(object);
	gate_refuse(e, "RT400", "the query is not UTF-8");
	return NULL;
}

/* Returns an upper bound of the number of values in a JSON text: commas outside of strings. A JSON value takes many times the
 * memory of its text. */
static int request_count_values(const char *body, size_t size)
{
	bool inside = false;
	int count = 1;

	for (size_t i = 0; i < size; i++) {
		if (inside && body[i] == '\\')
			i++;
		else if (body[i] == '"')
			inside = !inside;
		else if (!inside && body[i] == ',' && ++count > REQUEST_VALUES)
			break;
	}
	return count;
}

json_t *gate_request_parse_body(const char *body, size_t size, struct err *e)
{
	json_error_t error;
	json_t *object;

	if (size == 0)
		return json_object();
	if (request_count_values(body, size) > REQUEST_VALUES) {
		gate_refuse(e, "RT413", "the body has more than %d JSON values", REQUEST_VALUES);
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

json_t *gate_request_member(const json_t *request, const char *name)
{
	json_t *value = json_object_get(request, name);

	return json_is_null(value) ? NULL : value;
}

bool gate_request_text(const json_t *request, const char *name, const char *otherwise, const char **text, struct err *e)
{
	const json_t *value = gate_request_member(request, name);

	*text = otherwise;
	if (!value)
		return true;
	*text = json_string_value(value);
	return *text || gate_refuse(e, "RT422", "\"%s\" must be a string", name);
}

bool gate_request_texts(const json_t *request, const char *name, const char ***texts, int *count, struct err *e)
{
	const json_t *list = gate_request_member(request, name);

	*count = (int)json_array_size(list);
	*texts = xcalloc((size_t)*count, sizeof **texts);
	for (int i = 0; i < *count; i++)
		(*texts)[i] = json_string_value(json_array_get(list, (size_t)i));
	for (int i = 0; i < *count; i++) {
		if (!(*texts)[i])
			return gate_refuse(e, "RT422", "\"%s\" must be a list of strings", name);
	}
	return !list || json_is_array(list) || gate_refuse(e, "RT422", "\"%s\" must be a list of strings", name);
}

static bool request_is_known(const char *name, const char *names)
{
	size_t length = strlen(name), word;

	for (; *names; names += word + strspn(names + word, " ")) {
		word = strcspn(names, " ");
		if (word == length && memcmp(names, name, word) == 0)
			return true;
	}
	return false;
}

static void request_refuse_member(const char *name, const char *names, struct err *e)
{
	char *words = xstrdup(names), *rest = NULL;
	struct nearest nearest = NEAREST(name);

	for (const char *word = strtok_r(words, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
		nearest_try(&nearest, word);
	gate_refuse(e, "RT422", "unknown member \"%.100s\" of the request", name);
	if (nearest.best)
		err_hint(e, "Perhaps you mean \"%s\".", nearest.best);
	else
		err_hint(e, *names ? "Members of this request are: %s." : "This request has no members.", names);
	free(words);
}

bool gate_request_check_members(const json_t *request, const char *names, struct err *e)
{
	const char *name;
	json_t *value;

	json_object_foreach ((json_t *)request, name, value) {
		if (!json_is_null(value) && !request_is_known(name, names)) {
			request_refuse_member(name, names, e);
			return false;
		}
	}
	return true;
}
