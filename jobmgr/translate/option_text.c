/* option_text.c - texts of users: validity, names, and quoting for messages.
 *
 * Called by: all of the translator.
 * Invariants:
 * - A text that option_text_clean accepts can be a JSON string and a field of a launch spec.
 * - A text that option_text_quote makes can be printed on any terminal. */
#include "jobmgr/translate/option_text.h"

#include <stdio.h>
#include <string.h>

#include "lib/text.h"

enum { NAME_LONGEST = 64 };

/* Returns the length of the UTF-8 sequence at `s` and its code point. Returns 0 if there is no valid sequence. */
static int text_read_sequence(const unsigned char *s, unsigned *point)
{
	static const unsigned least[] = {0, 0, 0x80, 0x800, 0x10000};
	int length = s[0] < 0x80		   ? 1
		     : s[0] >= 0xC2 && s[0] < 0xE0 ? 2
		     : s[0] >= 0xE0 && s[0] < 0xF0 ? 3
		     : s[0] >= 0xF0 && s[0] < 0xF5 ? 4
						   : 0;
	if (length == 0)
		return 0;
	*point = length == 1 ? s[0] : s[0] & (0x7Fu >> length);
	for (int i = 1; i < length; i++) {
		if ((s[i] & 0xC0) != 0x80)
			return 0;
		*point = *point << 6 | (s[i] & 0x3Fu);
	}
	return *point < least[length] || *point > 0x10FFFF || (*point >= 0xD800 && *point < 0xE000) ? 0 : length;
}

bool option_text_clean(const char *text, bool tabs)
{
	const unsigned char *s = (const unsigned char *)text;
	while (*s) {
		unsigned point = 0;
		int length = text_read_sequence(s, &point);
		if (length == 0 || (text_control_size((const char *)s) > 0 && !(tabs && point == '\t')))
			return false;
		s += length;
	}
	return true;
}

/* Read a UTF-8 sequence as text_read_sequence() does, at the end of a text with only `left` more bytes. */
static int text_read_sequence_within(const char *text, size_t left, unsigned *point)
{
	unsigned char unit[5] = {0};
	memcpy(unit, text, left < 4 ? left : 4);
	return text_read_sequence(unit, point);
}

const char *option_text_utf8(const char *text, size_t size)
{
	unsigned point;
	for (size_t i = 0; i < size;) {
		int length = (unsigned char)text[i] < 0x80 ? 1 : text_read_sequence_within(text + i, size - i, &point);
		if (length == 0)
			return text + i;
		i += (size_t)length;
	}
	return NULL;
}

static bool text_is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool option_text_name(const char *text, const char *extra, const char *not_first)
{
	size_t length = strlen(text);
	if (length < 1 || length > NAME_LONGEST || strchr(not_first, *text))
		return false;
	for (; *text; text++)
		if (!text_is_letter(*text) && !(*text >= '0' && *text <= '9') && !strchr(extra, *text))
			return false;
	return true;
}

bool option_text_label(const char *text)
{
	return option_text_name(text, "_-", "0123456789_-");
}

const char *option_text_quote(char *buffer, size_t size, const char *text, size_t length)
{
	char *out = buffer, *last = buffer + size - 4; /* room for "..." and NUL */
	for (size_t i = 0; i < length;) {
		unsigned point = 0;
		int bytes = text_read_sequence_within(text + i, length - i, &point);
		bool plain = bytes > 0 && text_control_size(text + i) == 0;
		int room = plain ? bytes : 4;
		if (out + room > last) {
			strcpy(out, "...");
			return buffer;
		}
		if (plain)
			memcpy(out, text + i, (size_t)bytes);
		else
			snprintf(out, 5, "\\x%02X", (unsigned char)text[i]);
		out += room;
		i += plain ? (size_t)bytes : 1;
	}
	*out = '\0';
	return buffer;
}
