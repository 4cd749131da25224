/* words.c - what was typed, as JSON. Called by verbs that build requests. */
#include "bin/rota/words.h"

#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bin/rota/hostlist.h"
#include "lib/err.h"

static json_t *text(const struct verb_scan *scan, const char *word)
{
	json_t *value = json_string(word);

	if (!value)
		verb_misuse(scan->verb, "\"%s\" is not UTF-8", word);
	return value;
}

json_t *words_text(const struct verb_scan *scan)
{
	return text(scan, scan->value);
}

json_t *words_list(const struct verb_scan *scan)
{
	json_t *list = json_array();
	char *copy = xstrdup(scan->value), *rest = copy, *word;

	while ((word = strsep(&rest, ",")))
		if (*word)
			json_array_append_new(list, text(scan, word));
	free(copy);
	return list;
}

json_t *words_operands(const struct verb_scan *scan)
{
	json_t *list = json_array();

	for (int i = 0; i < scan->operands; i++)
		json_array_append_new(list, text(scan, scan->argv[scan->at + i]));
	return list;
}

json_t *words_nodes(const struct verb_scan *scan)
{
	json_t *list = json_array();

	for (int i = 0; i < scan->operands; i++) {
		struct err e = {0};
		char **names = hostlist_expand(scan->argv[scan->at + i], &e);

		if (!names)
			verb_misuse(scan->verb, "%s", e.message);
		for (char **name = names; *name; name++)
			json_array_append_new(list, text(scan, *name));
		hostlist_free(names);
	}
	return list;
}

const char *words_me(void)
{
	const struct passwd *pw = getpwuid(geteuid());

	if (!pw)
		die("user id %d has no account", (int)geteuid());
	return pw->pw_name;
}
