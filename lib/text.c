/* text.c - reads UTF-8 characters, makes program output valid for journal and database, and quotes values.
 *
 * Called by: the translator for texts of users; rota for answers; the keeper and the runner for output of hooks; makers of
 * connection strings.
 * Invariants:
 * - Cleaned text is valid UTF-8. */
#include "lib/text.h"

#include <stdlib.h>
#include <string.h>

#include "lib/err.h"

size_t text_character_size(const char *text)
{
	const unsigned char *p = (const unsigned char *)text;
	size_t length = p[0] < 0x80		      ? 1
			: p[0] >= 0xc2 && p[0] < 0xe0 ? 2
			: (p[0] & 0xf0) == 0xe0	      ? 3
			: p[0] >= 0xf0 && p[0] < 0xf5 ? 4
						      : 0;
	for (size_t i = 1; i < length; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] >= 0xa0) || (p[0] == 0xf0 && p[1] < 0x90) ||
	    (p[0] == 0xf4 && p[1] >= 0x90))
		return 0;
	return length;
}

size_t text_control_size(const char *text)
{
	const unsigned char *c = (const unsigned char *)text;
	if (c[0] < 0x20 || c[0] == 0x7F)
		return 1;
	if (c[0] == 0xC2 && c[1] >= 0x80 && c[1] < 0xA0)
		return 2;
	bool turns = c[0] == 0xE2 &&
		     ((c[1] == 0x80 && c[2] >= 0xAA && c[2] <= 0xAE) || (c[1] == 0x81 && c[2] >= 0xA6 && c[2] <= 0xA9));
	return turns ? 3 : 0;
}

void text_clean(char *text)
{
	for (char *p = text; *p;) {
		size_t length = text_character_size(p), control = *p == '\n' || *p == '\t' ? 0 : text_control_size(p);
		if (length == 0 || control > 0) {
			*p++ = '?';
			continue;
		}
		p += length;
	}
}

size_t text_tail_room(char *text, size_t length, size_t size, size_t most)
{
	size_t kept = most + 1; /* one byte more, so that text_tail() sees that the text was cut */

	if (length < size - 1)
		return length;
	memmove(text, text + length - kept, kept);
	return kept;
}

void text_tail(char *text, size_t length, size_t most)
{
	if (length > most) {
		size_t first = length - most;

		/* A character has at most three bytes after its first one. */
		for (int i = 0; i < 3 && first < length && ((unsigned char)text[first] & 0xc0) == 0x80; i++)
			first++;
		length -= first;
		memmove(text, text + first, length);
	}
	for (size_t i = 0; i < length; i++)
		if (text[i] == '\0')
			text[i] = '?';
	text[length] = '\0';
	text_clean(text);
}

void text_cut(char *text, size_t most)
{
	size_t end = most - strlen("...");

	if (strlen(text) <= most)
		return;
	while (end > 0 && ((unsigned char)text[end] & 0xc0) == 0x80)
		end--;
	strcpy(text + end, "...");
}

void text_write_quoted(FILE *out, const char *text)
{
	putc('"', out);
	for (; *text; text++) {
		const char *special = strchr("\"\\\n\r\t", *text);

		if (special)
			fprintf(out, "\\%c", "\"\\nrt"[special - "\"\\\n\r\t"]);
		else
			putc(*text, out);
	}
	fputs("\"\n", out);
}

char *text_quoted(const char *text)
{
	char *quoted = xmalloc(2 * strlen(text) + 1), *to = quoted;
	for (; *text; text++) {
		if (*text == '\'' || *text == '\\')
			*to++ = '\\';
		*to++ = *text;
	}
	*to = '\0';
	return quoted;
}

const char *text_plural(int64_t count)
{
	return count == 1 ? "" : "s";
}

bool text_range(const char *text, int lowest, int highest, int *first, int *last)
{
	char *end;
	long from = strtol(text, &end, 10), to = *end == '-' ? strtol(end + 1, &end, 10) : -1;
	if (*end || from < lowest || from > to || to > highest)
		return false;
	*first = (int)from;
	*last = (int)to;
	return true;
}
