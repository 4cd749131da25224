/* option_item.h - what the parsers of values are made of: digits, the items of lists, and JSON that takes them. */
#ifndef ROTA_OPTION_ITEM_H
#define ROTA_OPTION_ITEM_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* A whole text as a number within [lowest, highest]. */
bool option_number(const char *text, int64_t lowest, int64_t highest, int64_t *number);

/* Digits at *text, which then stands behind them; false when there are none or they are more than `highest`. */
bool option_digits(const char **text, int64_t highest, int64_t *number);

/* Put value (taken over) into object; memory that is out ends the process. */
void option_put(json_t *object, const char *key, json_t *value);
void option_append(json_t *list, json_t *value);

/* A copy of a list's first item, and the text moved behind it and its separator; NULL at the end. For lists with commas
 * between, where an empty item is an item. */
char *option_item(const char **text, char separator);

#endif
