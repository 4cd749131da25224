/* option_export.c - the list of --export: ALL, NONE, NAME, NAME=value or NAME='value, with commas', separated by commas.
 *
 * Called by: option_value.c; translate_export.c, which applies the list.
 * Invariants:
 * - The check (option_value.c) and the use (translate_export.c) both read the list by option_export_next, so each accepted
 *   list can be applied. */
#include <stdlib.h>
#include <string.h>

#include "jobmgr/translate/option_item.h"
#include "jobmgr/translate/option_text.h"
#include "jobmgr/translate/option_value.h"

enum { EXPORT_LONGEST = 16384 };

static char *export_take_value(const char **text)
{
	const char *start = *text, *end;
	if (*start == '\'' && (end = strchr(start + 1, '\'')) && (!end[1] || end[1] == ',')) {
		*text = end[1] ? end + 2 : NULL;
		return xstrndup(start + 1, (size_t)(end - start - 1));
	}
	return option_item(text, ',');
}

bool option_export_next(const char **text, struct option_export_item *item, struct err *e)
{
	size_t length = strcspn(*text, ",=");
	item->name = xstrndup(*text, length);
	item->value = NULL;
	const char *rest = *text + length;
	if (*rest == '=') {
		rest++;
		item->value = export_take_value(&rest);
	} else {
		rest = *rest ? rest + 1 : NULL;
	}
	*text = rest;
	size_t first = strspn(item->name, "0123456789");
	const char *c = item->name;
	while ((*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9') || *c == '_')
		c++;
	if (!*item->name || *c || first > 0)
		return err_set(e, "\"%s\" is not the name of a variable", OPTION_QUOTE(item->name));
	return true;
}

json_t *option_export(const char *text, struct err *e)
{
	if (!*text || strlen(text) > EXPORT_LONGEST || !option_text_clean(text, true)) {
		err_set(e, "\"%s\" is not a list of variables", OPTION_QUOTE(text));
		err_hint(e, "write ALL, NONE, or names and NAME=value, separated by commas");
		return NULL;
	}
	bool is_valid = true, has_none = false;
	int items = 0;
	for (const char *rest = text; is_valid && rest; items++) {
		struct option_export_item item;
		is_valid = option_export_next(&rest, &item, e);
		has_none = has_none || (is_valid && !item.value && strcmp(item.name, "NONE") == 0);
		free(item.name);
		free(item.value);
	}
	if (is_valid && has_none && items > 1)
		is_valid = err_set(e, "NONE cannot be combined with other variables");
	return is_valid ? json_string(text) : NULL;
}
