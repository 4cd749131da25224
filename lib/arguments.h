/* arguments.h - the arguments of a script as one text: what a spec has in its field "arguments". See docs/formats.md. */
#ifndef ROTA_ARGUMENTS_H
#define ROTA_ARGUMENTS_H

#include <stdbool.h>

#include "lib/fields.h"

enum { ARGUMENTS_MOST = 1000 };

/* At most ARGUMENTS_MOST of them as a text, malloc'ed; NULL for none. */
char *arguments_write(const char *const *list, int count);

/* The text read back: argument i of fields_count() is fields_value(i). NULL where it is not such a text. */
struct fields *arguments_parse(const char *text);

/* Whether it is such a text. */
bool arguments_valid(const char *text);

#endif
