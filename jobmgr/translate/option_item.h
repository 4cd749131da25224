/* option_item.h - functions that parsers of option values share: digits, items of lists, and JSON containers. */
#ifndef ROTA_OPTION_ITEM_H
#define ROTA_OPTION_ITEM_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* Read a whole text as a number within [lowest, highest]. Returns false if it is no such number. */
bool option_number(const char *text, int64_t lowest, int64_t highest, int64_t *number);

/* Read a number in digits at *text, and move *text after the digits. Returns false if there are no digits or the number is above
 * `highest`. */
bool option_digits(const char **text, int64_t highest, int64_t *number);

/* Add a value to a JSON object or list, which takes over the reference. The process dies if memory is exhausted. */
void option_put(json_t *object, const char *key, json_t *value);
void option_append(json_t *list, json_t *value);

/* Returns a malloc'ed copy of the first item of the list at *text, and moves *text after the item's separator. Returns NULL at
 * the end. An empty item counts as an item. */
char *option_item(const char **text, char separator);

#endif
