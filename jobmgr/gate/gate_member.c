/* gate_member.c - see gate_member.h. What always holds: a member that is null is one that is not there. */
#include "jobmgr/gate/gate_member.h"

#include <stdlib.h>
#include <string.h>

#include "jobmgr/gate/gate_answer.h"
#include "lib/nearest.h"

json_t *gate_member(const json_t *request, const char *name)
{
	json_t *value = json_object_get(request, name);

	return json_is_null(value) ? NULL : value;
}

bool gate_member_text(const json_t *request, const char *name, const char *otherwise, const char **text, struct err *e)
{
	const json_t *value = gate_member(request, name);

	*text = otherwise;
	if (!value)
		return true;
	*text = json_string_value(value);
	return *text || gate_refuse(e, "RT422", "\"%s\" must be a string", name);
}

bool gate_member_texts(const json_t *request, const char *name, const char ***texts, int *count, struct err *e)
{
	const json_t *list = gate_member(request, name);

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

static bool member_known(const char *name, const char *names)
{
	size_t length = strlen(name), word;

	for (; *names; names += word + strspn(names + word, " ")) {
		word = strcspn(names, " ");
		if (word == length && memcmp(names, name, word) == 0)
			return true;
	}
	return false;
}

static void member_refuse(const char *name, const char *names, struct err *e)
{
	char *words = xstrdup(names), *rest = NULL;
	struct nearest nearest = NEAREST(name);

	for (const char *word = strtok_r(words, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
		nearest_try(&nearest, word);
	gate_refuse(e, "RT422", "\"%.100s\" is no member of this request", name);
	if (nearest.best)
		err_hint(e, "Perhaps you mean \"%s\".", nearest.best);
	else
		err_hint(e, *names ? "It may have: %s." : "It has no members.", names);
	free(words);
}

bool gate_members_known(const json_t *request, const char *names, struct err *e)
{
	const char *name;
	json_t *value;

	json_object_foreach ((json_t *)request, name, value) {
		if (!json_is_null(value) && !member_known(name, names)) {
			member_refuse(name, names, e);
			return false;
		}
	}
	return true;
}
