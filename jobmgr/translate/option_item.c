/* option_item.c - functions that parsers of option values share: digits, items of lists, and JSON containers. */
#include "jobmgr/translate/option_item.h"

#include <string.h>

#include "lib/err.h"

bool option_digits(const char **text, int64_t highest, int64_t *number)
{
	const char *c = *text;
	*number = 0;
	for (; *c >= '0' && *c <= '9'; c++) {
		if (*number > (highest - (*c - '0')) / 10)
			return false;
		*number = *number * 10 + (*c - '0');
	}
	bool some = c > *text;
	*text = c;
	return some;
}

bool option_number(const char *text, int64_t lowest, int64_t highest, int64_t *number)
{
	bool negative = lowest < 0 && *text == '-';
	if (negative || (lowest < 0 && *text == '+'))
		text++;
	if (!option_digits(&text, INT64_MAX, number) || *text)
		return false;
	if (negative)
		*number = -*number;
	return *number >= lowest && *number <= highest;
}

void option_put(json_t *object, const char *key, json_t *value)
{
	if (json_object_set_new(object, key, value) != 0)
		die("out of memory");
}

void option_append(json_t *list, json_t *value)
{
	if (json_array_append_new(list, value) != 0)
		die("out of memory");
}

char *option_item(const char **text, char separator)
{
	if (!*text)
		return NULL;
	const char *end = strchrnul(*text, separator);
	char *item = xstrndup(*text, (size_t)(end - *text));
	*text = *end ? end + 1 : NULL;
	return item;
}
