/* gate_member.c - see gate_member.h. What always holds: a member that is null is one that is not there. */
#include "jobmgr/gate/gate_member.h"

#include <stdlib.h>

#include "jobmgr/gate/gate_answer.h"

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
	return !list || json_is_array(list) ||
	       gate_refuse(e, "RT422", "\"%s\" must be a list of strings", name);
}
