/* option_hosts.c - expands lists of nodes such as n1,m[1-4,7],r[01-10]n[1-2] into names: each once, in the order of the text.
 *
 * Called by: option_value.c.
 * Invariants:
 * - context->items_left bounds the number of node names in all lists of a script together. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jobmgr/translate/option_item.h"
#include "jobmgr/translate/option_text.h"
#include "jobmgr/translate/option_value.h"

enum { HOST_LONGEST = 253, BRACKETS_MOST = 4, NUMBER_HIGHEST = 999999999 };

struct hosts {
	json_t *list, *seen;
	struct option_context *context;
	char name[HOST_LONGEST + 1];
	struct err *e;
};

static bool hosts_add(struct hosts *h)
{
	if (!*h->name || strchr(".-", *h->name))
		return err_set(h->e, "\"%s\" is not the name of a node", OPTION_QUOTE(h->name));
	if (json_object_get(h->seen, h->name))
		return true;
	if (h->context->items_left-- <= 0)
		return err_set(h->e, "too many nodes are listed");
	option_put(h->seen, h->name, json_true());
	option_append(h->list, json_string(h->name));
	return true;
}

static bool hosts_is_character(char c)
{
	char text[] = {c, '\0'};
	return option_text_name(text, "_.-", "");
}

static bool hosts_expand(struct hosts *h, size_t length, const char *text, int brackets);

/* Expand one item of a bracket in a list of nodes, such as "7" or "1-4". `after` is the text that follows the bracket. */
static bool hosts_expand_range(struct hosts *h, size_t length, const char *range, const char *after, int brackets)
{
	const char *c = range;
	int64_t lowest, highest;
	bool good = option_digits(&c, NUMBER_HIGHEST, &lowest);
	int width = *range == '0' ? (int)(c - range) : 1;
	highest = lowest;
	if (good && *c == '-')
		good = (c++, option_digits(&c, NUMBER_HIGHEST, &highest));
	if (!good || *c || lowest > highest || width > 9)
		return err_set(h->e, "\"%s\" is not a range of numbers", OPTION_QUOTE(range));
	for (int64_t n = lowest; n <= highest; n++) {
		char number[16];
		int size = snprintf(number, sizeof number, "%0*lld", width, (long long)n);
		if (length + (size_t)size > HOST_LONGEST)
			return err_set(h->e, "the name of a node is longer than %d", HOST_LONGEST);
		memcpy(h->name + length, number, (size_t)size);
		if (!hosts_expand(h, length + (size_t)size, after, brackets + 1))
			return false;
		if (h->context->items_left <= 0 && n < highest)
			return err_set(h->e, "too many nodes are listed");
	}
	return true;
}

/* Append `text` to the node name, which has `length` characters so far, and add all names that its brackets give to the list. */
static bool hosts_expand(struct hosts *h, size_t length, const char *text, int brackets)
{
	for (; *text && *text != '['; text++) {
		if (!hosts_is_character(*text))
			return err_set(h->e, "\"%s\" has a character that no name of a node has", OPTION_QUOTE(text));
		if (length == HOST_LONGEST)
			return err_set(h->e, "the name of a node is longer than %d", HOST_LONGEST);
		h->name[length++] = *text;
	}
	h->name[length] = '\0';
	if (!*text)
		return hosts_add(h);
	const char *end = strchr(text, ']');
	if (!end || brackets == BRACKETS_MOST)
		return err_set(h->e, "\"%s\" %s", OPTION_QUOTE(text), end ? "has too many brackets" : "has no closing bracket");
	char *ranges = xstrndup(text + 1, (size_t)(end - text - 1)), *range;
	const char *rest = ranges;
	bool good = true;
	while (good && (range = option_item(&rest, ','))) {
		good = hosts_expand_range(h, length, range, end + 1, brackets);
		free(range);
	}
	free(ranges);
	return good;
}

/* Returns the next item of a list of nodes, up to a comma outside brackets, or NULL at the end. */
static char *hosts_next(const char **text)
{
	if (!*text)
		return NULL;
	const char *c = *text;
	for (bool inside = false; *c && (inside || *c != ','); c++)
		inside = *c == '[' || (inside && *c != ']');
	char *item = xstrndup(*text, (size_t)(c - *text));
	*text = *c ? c + 1 : NULL;
	return item;
}

json_t *option_hosts(const char *text, struct option_context *context, struct err *e)
{
	struct hosts h = {.list = json_array(), .seen = json_object(), .context = context, .e = e};
	bool good = true;
	char *item;
	if (strcmp(text, "none") == 0)
		text = NULL;
	while (good && (item = hosts_next(&text))) {
		good = hosts_expand(&h, 0, item, 0);
		free(item);
	}
	json_decref(h.seen);
	if (good)
		return h.list;
	json_decref(h.list);
	return NULL;
}
