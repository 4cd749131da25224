/* arguments.c - the arguments of a script as fields that are named by their numbers, from 1 on.
 *
 * Called by the translator, which writes them into a spec, and by the keeper, which starts tasks with them.
 * Invariants: one list of arguments has one text; a text has at least one argument. */
#include "lib/arguments.h"

#include <stdio.h>
#include <string.h>

struct number {
	char text[12];
};

/* Returns the name of field `i`, which is i + 1 in decimal. */
static struct number number_of(int i)
{
	struct number number;
	snprintf(number.text, sizeof number.text, "%d", i + 1);
	return number;
}

char *arguments_write(const char *const *list, int count)
{
	if (count < 1)
		return NULL;
	struct fields *f = fields_new();
	for (int i = 0; i < count; i++)
		fields_add(f, number_of(i).text, list[i]);
	char *text = xstrdup(fields_text(f, NULL));
	fields_free(f);
	return text;
}

struct fields *arguments_parse(const char *text)
{
	struct err e;
	struct fields *f = fields_parse(text, strlen(text), &e);
	bool good = f && fields_count(f) >= 1 && fields_count(f) <= ARGUMENTS_MOST;
	for (int i = 0; good && i < fields_count(f); i++)
		good = strcmp(fields_name(f, i), number_of(i).text) == 0;
	if (good)
		return f;
	fields_free(f);
	return NULL;
}

bool arguments_valid(const char *text)
{
	struct fields *f = arguments_parse(text);
	fields_free(f);
	return f != NULL;
}
