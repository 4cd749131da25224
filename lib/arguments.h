/* arguments.h - the arguments of a script as one text, as the field "arguments" of a spec has them. See docs/formats.md. */
#ifndef ROTA_ARGUMENTS_H
#define ROTA_ARGUMENTS_H

#include <stdbool.h>

#include "lib/fields.h"

enum { ARGUMENTS_MOST = 1000 };

/* Write the arguments in `list`, ARGUMENTS_MOST at most, as one malloc'ed text. Returns NULL if `count` is 0. */
char *arguments_write(const char *const *list, int count);

/* Parse a text of arguments. Argument i is fields_value(i), and fields_count() is their number. Returns NULL if `text` is
 * malformed. */
struct fields *arguments_parse(const char *text);

/* Returns true if arguments_parse() accepts `text`. */
bool arguments_valid(const char *text);

#endif
