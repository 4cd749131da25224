/* hosts.c - lists of node names in a short form, as n[1-4].
 *
 * Called by: the leader, which writes them into launch requests; all parsers of launch requests.
 * Invariants:
 * - Expanding a short list returns the names from which it was made, in the same order.
 * - Fewer than eight consecutive names are written out, with commas between them. */
#include "lib/hosts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RUN_LEAST = 8, DIGITS_MOST = 9, NAME_MOST = 253 };

/* One item of a list: a name, or names that differ in the number at their end. */
struct item {
	const char *text;
	int length;    /* length of the name, or of its part before the number */
	int low, high; /* lowest and highest number; -1 and -1: a single name */
};

/* Returns the number at the end of a node name, or -1 if there is none or it has leading zeros. *length is the length of the part
 * of the name before the number. */
static int number_of(const char *name, int *length)
{
	int end = (int)strlen(name), at = end;
	while (at > 0 && end - at < DIGITS_MOST && name[at - 1] >= '0' && name[at - 1] <= '9')
		at--;
	*length = at;
	bool plain = at > 0 && at < end && (name[at] != '0' || end - at == 1) && (name[at - 1] < '0' || name[at - 1] > '9');
	return plain ? atoi(name + at) : -1;
}

/* Returns the number of names at the beginning of `names` that differ only in a number at their end, which counts up by one. */
static size_t run_of(const char *const *names, size_t count)
{
	int length, other, first = number_of(names[0], &length);
	size_t n = 1;
	while (first >= 0 && n < count && number_of(names[n], &other) == first + (int)n && other == length &&
	       memcmp(names[n], names[0], (size_t)length) == 0)
		n++;
	return n;
}

char *hosts_pack(const char *const *names, size_t count)
{
	size_t room = 1;
	for (size_t i = 0; i < count; i++)
		room += strlen(names[i]) + sizeof ",[-]" + DIGITS_MOST;
	char *list = xmalloc(room), *end = list;
	*end = '\0';
	for (size_t i = 0; i < count;) {
		size_t run = run_of(&names[i], count - i);
		int length, low = number_of(names[i], &length);
		if (end > list)
			*end++ = ',';
		if (run >= RUN_LEAST)
			end += sprintf(end, "%.*s[%d-%d]", length, names[i], low, low + (int)run - 1);
		else
			end = stpcpy(end, names[i]);
		i += run >= RUN_LEAST ? run : 1;
	}
	return list;
}

/* Parse digits and the character `behind` after them. Returns the number, or -1 if there are no digits, too many, or leading
 * zeros. */
static int digits(const char **c, char behind)
{
	size_t length = strspn(*c, "0123456789");
	int value = length > 0 && length <= DIGITS_MOST && (length == 1 || **c != '0') && (*c)[length] == behind ? atoi(*c) : -1;
	*c += length + (value >= 0);
	return value;
}

/* Parse the next item of a list of node names. Returns false at the end of the list and on a syntax error, which sets *list to
 * NULL. */
static bool item_take(const char **list, struct item *item)
{
	const char *c = *list;
	if (!*c)
		return false;
	*item = (struct item){c, (int)strcspn(c, ",[]"), -1, -1};
	c += item->length;
	if (*c == '[') {
		c++;
		item->low = digits(&c, '-');
		item->high = item->low >= 0 ? digits(&c, ']') : -1;
	}
	bool good = item->length > 0 && item->length <= (item->low < 0 ? NAME_MOST : NAME_MOST - DIGITS_MOST) &&
		    item->low <= item->high && (item->low < 0) == (item->high < 0) && (*c == ',' ? c[1] != '\0' : *c == '\0');
	*list = good ? c + (*c == ',') : NULL;
	return good;
}

static int count_of(const struct item *item)
{
	return item->high - item->low + 1;
}

static void name_of(const struct item *item, int index, char name[HOSTS_NAME_SIZE])
{
	int length = snprintf(name, HOSTS_NAME_SIZE, "%.*s", item->length, item->text);
	if (item->low >= 0)
		snprintf(name + length, (size_t)(HOSTS_NAME_SIZE - length), "%d", item->low + index);
}

int hosts_count(const char *list)
{
	struct item item;
	int64_t count = 0;
	while (item_take(&list, &item))
		count += count_of(&item);
	return list && count <= INT32_MAX ? (int)count : -1;
}

bool hosts_at(const char *list, int index, char name[HOSTS_NAME_SIZE])
{
	struct item item;
	while (index >= 0 && item_take(&list, &item)) {
		if (index < count_of(&item)) {
			name_of(&item, index, name);
			return true;
		}
		index -= count_of(&item);
	}
	return false;
}

/* Returns the position of `name` among the node names of an item, or -1 if the item does not have the name. */
static int place_in(const struct item *item, const char *name)
{
	char other[HOSTS_NAME_SIZE];
	if (strncmp(name, item->text, (size_t)item->length) != 0)
		return -1;
	int number = item->low < 0 ? 0 : atoi(name + item->length) - item->low;
	if (number < 0 || number >= count_of(item))
		return -1;
	name_of(item, number, other);
	return strcmp(name, other) == 0 ? number : -1;
}

int hosts_find(const char *list, const char *name)
{
	struct item item;
	int before = 0;
	while (item_take(&list, &item)) {
		int place = place_in(&item, name);
		if (place >= 0)
			return before + place;
		before += count_of(&item);
	}
	return -1;
}

char *hosts_expand(const char *list)
{
	struct item item;
	char *out = NULL, name[HOSTS_NAME_SIZE];
	size_t size;
	FILE *stream = open_memstream(&out, &size);
	bool first = true;
	if (!stream)
		die("out of memory");
	while (item_take(&list, &item))
		for (int i = 0; i < count_of(&item); i++, first = false) {
			name_of(&item, i, name);
			fprintf(stream, "%s%s", first ? "" : ",", name);
		}
	if (fclose(stream) != 0)
		die("out of memory");
	return out;
}
