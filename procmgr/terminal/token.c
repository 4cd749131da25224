/* token.c - splits what a program writes to a terminal into text, control characters and sequences.
 *
 * Called by: screen.c.
 * Invariants: tokens depend on the bytes alone, not on how they were divided when they were read. */
#include "procmgr/terminal/token.h"

#include <string.h>

enum { ESC = 0x1b, BEL = 0x07, CAN = 0x18, SUB = 0x1a, DEL = 0x7f, VALUE_MOST = 65535 };

static bool is_control(char c)
{
	return (unsigned char)c < 0x20 || c == DEL;
}

/* Returns how many bytes at the end of the text begin a UTF-8 character without ending it. */
static size_t unfinished_size(const char *text, size_t size)
{
	for (size_t back = 1; back <= 3 && back <= size; back++) {
		unsigned char c = (unsigned char)text[size - back];
		if (c >= 0xf5)
			return 0;
		if (c >= 0xc0)
			return (c >= 0xf0 ? 4u : c >= 0xe0 ? 3u : 2u) > back ? back : 0;
		if (c < 0x80)
			return 0;
	}
	return 0;
}

static size_t text_size(const char *bytes, size_t size)
{
	size_t end = 0;
	while (end < size && !is_control(bytes[end]))
		end++;
	return end < size ? end : end - unfinished_size(bytes, end);
}

/* Returns the size of the control string (from ESC and a letter to its terminator) with which `bytes` begin; 0 if the terminator
 * has not come yet. */
static size_t string_size(const char *bytes, size_t size, enum token_kind *kind)
{
	bool known = bytes[1] == ']' || bytes[1] == 'P';
	for (size_t i = 2; i < size; i++) {
		char c = bytes[i];
		if (c == CAN || c == SUB) {
			*kind = TOKEN_DROP;
			return i + 1;
		}
		if (c == ESC && i + 1 == size)
			return 0;
		if (c == BEL || c == ESC) {
			bool ended = c == BEL || bytes[i + 1] == '\\';
			*kind = ended && known ? TOKEN_STRING : TOKEN_DROP;
			return c == BEL ? i + 1 : ended ? i + 2 : i;
		}
	}
	return 0;
}

static size_t csi_size(const char *bytes, size_t size, enum token_kind *kind)
{
	for (size_t i = 2; i < size; i++) {
		unsigned char c = (unsigned char)bytes[i];
		*kind = c >= 0x40 && c < DEL ? TOKEN_CSI : TOKEN_DROP;
		if (c == ESC)
			return i;
		if (c >= 0x40 && c != DEL)
			return i + 1;
		if (c == CAN || c == SUB)
			return i + 1;
	}
	return 0;
}

static size_t escape_size(const char *bytes, size_t size, enum token_kind *kind)
{
	size_t i = 1;
	while (i < size && bytes[i] >= 0x20 && bytes[i] < 0x30)
		i++;
	if (i == size)
		return 0;
	*kind = bytes[i] >= 0x30 && bytes[i] < DEL ? TOKEN_ESCAPE : TOKEN_DROP;
	return *kind == TOKEN_ESCAPE ? i + 1 : i;
}

size_t token_next(const char *bytes, size_t size, enum token_kind *kind)
{
	if (size == 0)
		return 0;
	if (*bytes != ESC) {
		*kind = is_control(*bytes) ? TOKEN_CONTROL : TOKEN_TEXT;
		return *kind == TOKEN_CONTROL ? 1 : text_size(bytes, size);
	}
	if (size == 1)
		return 0;
	if (bytes[1] == '[')
		return csi_size(bytes, size, kind);
	if (strchr("]PX^_", bytes[1]) && bytes[1])
		return string_size(bytes, size, kind);
	return escape_size(bytes, size, kind);
}

bool token_csi_read(const char *bytes, size_t size, struct token_csi *csi)
{
	*csi = (struct token_csi){.final = bytes[size - 1], .count = 1, .values = {-1}};
	for (size_t i = 2; i + 1 < size; i++) {
		char c = bytes[i];
		int *value = &csi->values[csi->count - 1];
		if (c >= '0' && c <= '9') {
			*value = (*value < 0 ? 0 : *value) * 10 + c - '0';
		} else if ((c == ';' || c == ':') && csi->count < TOKEN_VALUES_MOST) {
			csi->joined |= (unsigned)(c == ':') << (csi->count - 1);
			csi->values[csi->count++] = -1;
		} else if (c >= '<' && c <= '?' && i == 2) {
			csi->leader = c;
		} else if (c >= 0x20 && c < 0x30 && !csi->intermediate) {
			csi->intermediate = c;
		} else {
			return false;
		}
		if (*value > VALUE_MOST)
			return false;
	}
	return true;
}

int token_csi_value(const struct token_csi *csi, int index, int missing)
{
	return index < csi->count && csi->values[index] >= 0 ? csi->values[index] : missing;
}
