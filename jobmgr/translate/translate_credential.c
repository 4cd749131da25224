/* translate_credential.c - which credentials a step needs, and which of them are added with the submission (NAME:forward).
 *
 * Called by: translate_plan.c, translate_spec.c, translate_step.c.
 * Invariants:
 * - Without --cred, a step has the default of its user, or else the default of its partition.
 * - NAME:forward counts as NAME for all else. OWNER/NAME becomes NAME@OWNER here. */
#include <stdlib.h>
#include <string.h>

#include "jobmgr/translate/option_item.h"
#include "jobmgr/translate/translate_parts.h"

static const char forward[] = ":forward";

/* Returns the names of the credentials that a step needs if --cred is not given, separated by commas; NULL: none. */
static const char *credential_default(const struct translation *t, const struct translate_step *s)
{
	const char *partition = json_string_value(translate_value(t, s, OPTION_ID_PARTITION));
	if (t->request->inside || t->request->credentials)
		return t->request->inside ? NULL : t->request->credentials;
	for (int i = 0; i < t->limits->partition_count; i++) {
		const struct translate_partition *p = &t->limits->partitions[i];
		if (partition ? strcmp(p->name, partition) == 0 : p->is_default)
			return p->credentials;
	}
	return NULL;
}

/* Cut the suffix ":forward" off a credential's name. Returns true if the name had it. */
static bool credential_cut_forward(char *name)
{
	char *at = strchr(name, ':');
	bool is_forwarded = at && strcmp(at, forward) == 0;
	if (is_forwarded)
		*at = '\0';
	return is_forwarded;
}

/* Append a credential's name to `names`: NAME as it is, OWNER/NAME as NAME@OWNER. */
static void credential_add(char *names, const char *name)
{
	const char *slash = strchr(name, '/');
	strcat(names, slash ? slash + 1 : name);
	if (slash) {
		strcat(names, "@");
		strncat(names, name, (size_t)(slash - name));
	}
}

char *translate_credentials(const struct translation *t, const struct translate_step *s)
{
	const char *text = json_string_value(translate_value(t, s, OPTION_ID_CRED));
	if (!text)
		text = credential_default(t, s);
	char *names = xcalloc(1, text ? strlen(text) + 1 : 1), *name;
	while (text && *text && (name = option_item(&text, ','))) {
		credential_cut_forward(name);
		if (*names)
			strcat(names, ",");
		credential_add(names, name);
		free(name);
	}
	if (*names)
		return names;
	free(names);
	return NULL;
}

static bool credential_is_listed(const json_t *list, const char *name)
{
	for (size_t i = 0; i < json_array_size(list); i++)
		if (strcmp(json_string_value(json_array_get(list, i)), name) == 0)
			return true;
	return false;
}

json_t *translate_forwards(const struct translation *t)
{
	json_t *list = json_array();
	for (int i = 0; i < t->step_count; i++) {
		const char *text = json_string_value(translate_value(t, &t->steps[i], OPTION_ID_CRED));
		char *name;
		while (text && *text && (name = option_item(&text, ','))) {
			if (credential_cut_forward(name) && !credential_is_listed(list, name))
				option_append(list, json_string(name));
			free(name);
		}
	}
	return list;
}
