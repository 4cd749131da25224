/* lines.c - splits blocks of a file into lines. A line longer than LINES_LONGEST is split, so memory is bounded. */
#include "bin/rota/output/lines.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/err.h"

enum { LINES_LONGEST = 1 << 20 };

static void json_print(const char *label, char *line, size_t size)
{
	json_t *text = json_stringn(line, size), *object = json_object();

	for (size_t i = 0; !text && i < size; i++)
		if (line[i] & 0x80)
			line[i] = '?';
	if (label)
		json_object_set_new(object, "label", json_string(label));
	json_object_set_new(object, "line", text ? text : json_stringn(line, size));
	json_dumpf(object, stdout, JSON_COMPACT);
	putchar('\n');
	json_decref(object);
}

static void line_print(const struct lines *l, char *line, size_t size)
{
	if (l->json) {
		json_print(l->label, line, size);
		return;
	}
	fputs(l->prefix, stdout);
	fwrite(line, 1, size, stdout);
	putchar('\n');
}

void lines_print(struct lines *l, const char *block, size_t size)
{
	char *line, *end, *last;

	l->rest = xrealloc(l->rest, l->size + size + 1);
	memcpy(l->rest + l->size, block, size);
	last = l->rest + l->size + size;
	for (line = l->rest; (end = memchr(line, '\n', (size_t)(last - line))); line = end + 1)
		line_print(l, line, (size_t)(end - line));
	l->size = (size_t)(last - line);
	memmove(l->rest, line, l->size);
	if (l->size > LINES_LONGEST)
		lines_end(l);
}

void lines_end(struct lines *l)
{
	if (l->size)
		line_print(l, l->rest, l->size);
	free(l->rest);
	l->rest = NULL;
	l->size = 0;
}
