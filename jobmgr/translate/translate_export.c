/* translate_export.c - returns the variables of an environment that --export selects.
 *
 * Called by: gate_job.c for each submission.
 * Invariants:
 * - Each variable is in the result once, as "NAME=value". */
#include <stdlib.h>
#include <string.h>

#include "jobmgr/translate/option_item.h"
#include "jobmgr/translate/option_value.h"
#include "jobmgr/translate/translate.h"

static size_t export_name_length(const char *entry)
{
	const char *equals = strchr(entry, '=');
	return equals ? (size_t)(equals - entry) : 0;
}

/* Returns the environment as an object, from the name of a variable to its entry "NAME=value". */
static json_t *export_index(const json_t *environment)
{
	json_t *variables = json_object(), *entry;
	size_t i;
	json_array_foreach ((json_t *)environment, i, entry) {
		const char *text = json_string_value(entry);
		size_t length = text ? export_name_length(text) : 0;
		if (length == 0)
			continue;
		char *name = xstrndup(text, length);
		option_put(variables, name, json_incref(entry));
		free(name);
	}
	return variables;
}

static void export_take(json_t *chosen, const json_t *variables, const struct option_export_item *item)
{
	if (item->value) {
		char *entry = xasprintf("%s=%s", item->name, item->value);
		option_put(chosen, item->name, json_string(entry));
		free(entry);
	} else if (strcmp(item->name, "ALL") == 0) {
		if (json_object_update_missing(chosen, (json_t *)variables) != 0)
			die("out of memory");
	} else if (json_object_get(variables, item->name) && !json_object_get(chosen, item->name)) {
		option_put(chosen, item->name, json_incref(json_object_get(variables, item->name)));
	}
}

/* Add ROTA_SUBMIT_HOST even for --export=NONE: the variable is a fact of the submission, not a setting of the user. */
static void export_take_host(json_t *chosen, const json_t *variables)
{
	json_t *entry = json_object_get(variables, "ROTA_SUBMIT_HOST");
	if (entry)
		option_put(chosen, "ROTA_SUBMIT_HOST", json_incref(entry));
}

json_t *translate_export(const char *list, const json_t *environment, struct err *e)
{
	json_t *checked = option_export(list, e), *answer = NULL, *entry;
	if (!checked)
		return NULL;
	json_decref(checked);
	json_t *variables = export_index(environment), *chosen = json_object();
	bool is_valid = true;
	for (const char *rest = strcmp(list, "NONE") == 0 ? NULL : list; is_valid && rest;) {
		struct option_export_item item;
		is_valid = option_export_next(&rest, &item, e);
		if (is_valid)
			export_take(chosen, variables, &item);
		free(item.name);
		free(item.value);
	}
	export_take_host(chosen, variables);
	if (is_valid) {
		const char *name;
		answer = json_array();
		json_object_foreach (chosen, name, entry)
			option_append(answer, json_incref(entry));
	}
	json_decref(variables);
	json_decref(chosen);
	return answer;
}
