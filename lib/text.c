/* text.c - makes program output valid for journal and database, and quotes values.
 *
 * Called by: the keeper and the runner for output of hooks; makers of connection strings.
 * Invariants:
 * - Cleaned text is valid UTF-8. */
#include "lib/text.h"

#include <string.h>

#include "lib/err.h"

/* Returns the length of the UTF-8 character at `p`, or 0 if there is no valid character. */
static size_t character(const unsigned char *p)
{
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

void text_clean(char *text)
{
	for (unsigned char *p = (unsigned char *)text; *p;) {
		size_t length = character(p);
		if (length == 0 || (*p < ' ' && *p != '\n' && *p != '\t') || *p == 127) {
			*p++ = '?';
			continue;
		}
		p += length;
	}
}

void text_tail(char *text, size_t length, size_t most)
{
	if (length > most) {
		memmove(text, text + length - most, most);
		length = most;
	}
	for (size_t i = 0; i < length; i++)
		if (text[i] == '\0')
			text[i] = '?';
	text[length] = '\0';
	text_clean(text);
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
