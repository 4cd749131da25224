/* option_item.h - what parsers of values share: digits, items of lists, and JSON containers. */
#ifndef ROTA_OPTION_ITEM_H
#define ROTA_OPTION_ITEM_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* A whole text as a number within [lowest, highest]. */
bool option_number(const char *text, int64_t lowest, int64_t highest, int64_t *number);

/* Read digits at *text and move it after them. False: there are none, or the number is above `highest`. */
bool option_digits(const char **text, int64_t highest, int64_t *number);

/* Add a value, which the container takes over. Out of memory ends the process. */
void option_put(json_t *object, const char *key, json_t *value);
void option_append(json_t *list, json_t *value);

/* A copy of the first item of a list; moves *text after its separator. NULL at the end. An empty item is an item. */
char *option_item(const char **text, char separator);

#endif
