/* hostlist.c - expands n[01-16,20] into names. Called by the verbs that take nodes. One bracket a name; never more than 65536 names. */
#include "bin/rota/hostlist.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_NAMES = 65536 };

struct names {
	char **list;
	size_t count;
};

static bool add(struct names *names, char *name, struct err *e)
{
	if (names->count == MOST_NAMES) {
		free(name);
		return err_set(e, "more than %d names", MOST_NAMES);
	}
	names->list = xrealloc(names->list, (names->count + 2) * sizeof(*names->list));
	names->list[names->count++] = name;
	names->list[names->count] = NULL;
	return true;
}

/* The ranges inside a bracket, each put between head and tail. */
static bool ranges_add(struct names *names, const char *head, int head_length, const char *ranges, const char *tail, int tail_length,
		       struct err *e)
{
	for (;;) {
		int digits = (int)strspn(ranges, "0123456789");
		long first = atol(ranges), last = first;

		if (digits == 0 || digits > 9)
			return err_set(e, "\"%s\" is no range of numbers", ranges);
		ranges += digits;
		if (*ranges == '-') {
			int more = (int)strspn(++ranges, "0123456789");

			last = atol(ranges);
			if (more == 0 || more > 9 || last < first)
				return err_set(e, "\"%s\" does not end a range that begins at %ld", ranges, first);
			ranges += more;
		}
		for (long n = first; n <= last; n++)
			if (!add(names, xasprintf("%.*s%0*ld%.*s", head_length, head, digits, n, tail_length, tail), e))
				return false;
		if (*ranges == ']')
			return true;
		if (*ranges++ != ',')
			return err_set(e, "a range of names lacks its \"]\"");
	}
}

/* One name, up to the comma that is in no bracket. */
static bool part_add(struct names *names, const char *part, int length, struct err *e)
{
	const char *open = memchr(part, '[', length), *close = memchr(part, ']', length);

	if (!open && !close)
		return length ? add(names, xstrndup(part, length), e) : err_set(e, "an empty name in a list of names");
	if (!open || !close || close < open || close == open + 1)
		return err_set(e, "\"%.*s\" is no range of names", length, part);
	return ranges_add(names, part, (int)(open - part), open + 1, close + 1, (int)(part + length - close - 1), e);
}

char **hostlist_expand(const char *text, struct err *e)
{
	struct names names = {xcalloc(1, sizeof(char *)), 0};

	for (;;) {
		int length = 0, depth = 0;

		for (; text[length] && (depth || text[length] != ','); length++)
			depth += text[length] == '[' ? 1 : text[length] == ']' && depth ? -1 : 0;
		if (!part_add(&names, text, length, e)) {
			hostlist_free(names.list);
			return NULL;
		}
		if (!text[length])
			return names.list;
		text += length + 1;
	}
}

void hostlist_free(char **names)
{
	for (char **name = names; name && *name; name++)
		free(*name);
	free(names);
}
