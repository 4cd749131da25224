/* option_text.c - checks texts of users, and quotes them for messages.
 *
 * Called by: all of the translator.
 * Invariants:
 * - A text that option_text_clean accepts can be a JSON string and a field of a step's spec, which a launch request has.
 * - A text that option_text_quote makes can be printed on any terminal. */
#include "jobmgr/translate/option_text.h"

#include <stdio.h>
#include <string.h>

#include "lib/text.h"

enum { NAME_LONGEST = 64 };

bool option_text_clean(const char *text, bool tabs)
{
	while (*text) {
		size_t length = text_character_size(text);
		if (length == 0 || (text_control_size(text) > 0 && !(tabs && *text == '\t')))
			return false;
		text += length;
	}
	return true;
}

/* Returns the bytes of the first character, as text_character_size() does, in a text that has `left` bytes. */
static size_t text_size_within(const char *text, size_t left)
{
	char unit[5] = {0};
	memcpy(unit, text, left < 4 ? left : 4);
	return text_character_size(unit);
}

const char *option_text_utf8(const char *text, size_t size)
{
	for (size_t i = 0; i < size;) {
		size_t length = (unsigned char)text[i] < 0x80 ? 1 : text_size_within(text + i, size - i);
		if (length == 0)
			return text + i;
		i += length;
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
		size_t bytes = text_size_within(text + i, length - i);
		bool plain = bytes > 0 && text_control_size(text + i) == 0;
		size_t room = plain ? bytes : 4;
		if (out + room > last) {
			strcpy(out, "...");
			return buffer;
		}
		if (plain)
			memcpy(out, text + i, bytes);
		else
			snprintf(out, 5, "\\x%02X", (unsigned char)text[i]);
		out += room;
		i += plain ? bytes : 1;
	}
	*out = '\0';
	return buffer;
}
