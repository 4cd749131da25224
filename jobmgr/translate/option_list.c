/* option_list.c - option values that are lists of names: generic resources, licences, resources that a suspended step keeps,
 * credentials, mail events.
 *
 * Called by: option_value.c.
 * Invariants:
 * - No list of amounts or credentials has a name twice. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "jobmgr/translate/option_item.h"
#include "jobmgr/translate/option_text.h"
#include "jobmgr/translate/option_value.h"
#include "lib/credential.h"

enum { AMOUNTS_MOST = 64, AMOUNT_HIGHEST = 1000000 };

/* Add an item NAME or NAME:N of --gres or --licenses to a JSON object. An amount of 0 is kept: it overrides the amount of a
 * setting of lower precedence. */
static bool list_read_amount(json_t *object, char *item, const char *extra, struct err *e)
{
	int64_t count = 1;
	char *colon = strchr(item, ':');
	if (colon)
		*colon = '\0';
	if (!option_text_name(item, extra, "0123456789.@-_"))
		return err_set(e, "\"%s\" is not a name", OPTION_QUOTE(item));
	if (colon && strchr(colon + 1, ':')) {
		err_set(e, "\"%s\" is requested by type, which is not supported", OPTION_QUOTE(item));
		return err_hint(e, "write %s:N here, and the type as a feature in --constraint", item);
	}
	if (colon && !option_number(colon + 1, 0, AMOUNT_HIGHEST, &count))
		return err_set(e, "\"%s\" is not a number from 0 to %d", OPTION_QUOTE(colon + 1), AMOUNT_HIGHEST);
	if (json_object_get(object, item))
		return err_set(e, "\"%s\" is named twice", item);
	if (json_object_size(object) >= AMOUNTS_MOST)
		return err_set(e, "more than %d names", AMOUNTS_MOST);
	option_put(object, item, json_integer(count));
	return true;
}

static json_t *list_read_amounts(const char *text, const char *extra, struct err *e)
{
	json_t *object = json_object();
	if (strcmp(text, "none") == 0)
		return object;
	bool good = true;
	char *item;
	while (good && (item = option_item(&text, ','))) {
		good = list_read_amount(object, item, extra, e);
		free(item);
	}
	if (good)
		return object;
	json_decref(object);
	return NULL;
}

json_t *option_gres(const char *text, struct err *e)
{
	return list_read_amounts(text, "_", e);
}

json_t *option_gpus(const char *text, struct err *e)
{
	int64_t count;
	if (option_number(text, 0, AMOUNT_HIGHEST, &count))
		return json_integer(count);
	err_set(e, "\"%s\" is not a number from 0 to %d", OPTION_QUOTE(text), AMOUNT_HIGHEST);
	if (strchr(text, ':'))
		err_hint(e, "write the number alone, and the type as a feature in --constraint");
	return NULL;
}

json_t *option_licenses(const char *text, struct err *e)
{
	return list_read_amounts(text, "_.@-", e);
}

/* Returns the name of a credential as Rota stores it, malloc'ed: NAME@OWNER for OWNER/NAME; other names are unchanged. */
static char *list_credential_name(const char *item)
{
	const char *slash = strchr(item, '/');
	return slash ? xasprintf("%s@%.*s", slash + 1, (int)(slash - item), item) : xstrdup(item);
}

/* Read an item of --cred: NAME, NAME:forward or OWNER/NAME. Adds it to `names`. */
static bool list_read_credential(json_t *names, char *item, struct err *e)
{
	char *more = strchr(item, ':');
	bool is_new = true;
	if (more && strcmp(more, ":forward") != 0) {
		err_set(e, "\"%s\" is not a suffix of a credential's name", OPTION_QUOTE(more));
		return err_hint(e, "NAME:forward adds your present credential with the submission");
	}
	if (more)
		*more = '\0';
	char *name = list_credential_name(item);
	if (strchr(item, '@') || !credential_name_valid(name) || (more && strchr(item, '/'))) {
		free(name);
		err_set(e, "\"%s\" is not the name of a credential%s", OPTION_QUOTE(item), more ? " of yours" : "");
		return err_hint(e,
				"\"rota cred list\" lists your credentials, and those of others that you may use as OWNER/NAME");
	}
	for (size_t i = 0; i < json_array_size(names); i++)
		is_new = is_new && strcmp(json_string_value(json_array_get(names, i)), name) != 0;
	json_array_append_new(names, json_string(name));
	free(name);
	if (!is_new)
		return err_set(e, "\"%s\" is named twice", item);
	return json_array_size(names) <= CREDENTIALS_MOST || err_set(e, "more than %d credentials", CREDENTIALS_MOST);
}

json_t *option_credentials(const char *text, struct err *e)
{
	if (strcmp(text, "none") == 0)
		return json_string("");
	json_t *names = json_array();
	const char *rest = text;
	bool good = true;
	char *item;
	while (good && (item = option_item(&rest, ','))) {
		good = list_read_credential(names, item, e);
		free(item);
	}
	json_decref(names);
	return good ? json_string(text) : NULL;
}

json_t *option_keep(const char *text, struct err *e)
{
	static const struct {
		const char *word, *key;
	} words[] = {{"cpus", "cpus"}, {"mem", "mem"}, {"gres", "gres"}, {"licenses", "licenses"}, {"licences", "licenses"}};
	enum { WORDS = sizeof words / sizeof *words };
	json_t *object = json_object();
	bool all = strcmp(text, "all") == 0, none = strcmp(text, "none") == 0;
	for (int i = 0; i < WORDS; i++)
		option_put(object, words[i].key, json_boolean(all));
	if (all || none)
		return object;
	char *item;
	while ((item = option_item(&text, ','))) {
		int i = 0;
		while (i < WORDS && strcmp(item, words[i].word) != 0)
			i++;
		if (i == WORDS) {
			err_set(e, "\"%s\" is not one of cpus, mem, gres, licenses", OPTION_QUOTE(item));
			free(item);
			json_decref(object);
			return NULL;
		}
		option_put(object, words[i].key, json_true());
		free(item);
	}
	return object;
}

static const char *const events[] = {"NONE",	      "BEGIN",		"END",	      "FAIL",	    "REQUEUE",
				     "ALL",	      "INVALID_DEPEND", "STAGE_OUT",  "TIME_LIMIT", "TIME_LIMIT_90",
				     "TIME_LIMIT_80", "TIME_LIMIT_50",	"ARRAY_TASKS"};
enum { EVENTS = sizeof events / sizeof *events };

const char *option_mail_event(size_t at)
{
	return at < EVENTS ? events[at] : NULL;
}

json_t *option_mail(const char *text, struct err *e)
{
	bool wanted[EVENTS] = {false};
	char *item, list[256] = "";
	while ((item = option_item(&text, ','))) {
		int i = 0;
		while (i < EVENTS && strcasecmp(item, events[i]) != 0)
			i++;
		if (i == EVENTS) {
			err_set(e, "\"%s\" is not an event", OPTION_QUOTE(item));
			err_hint(e, "events are BEGIN, END, FAIL, REQUEUE, INVALID_DEPEND, TIME_LIMIT, TIME_LIMIT_90, _80, _50, "
				    "ARRAY_TASKS, ALL and NONE");
			free(item);
			return NULL;
		}
		wanted[i] = true;
		free(item);
	}
	for (int i = 0; i < EVENTS; i++)
		if (wanted[i])
			strcat(strcat(list, *list ? "," : ""), events[i]);
	return json_string(list);
}
