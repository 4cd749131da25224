/* option_text.h - texts of users: which are valid, and how to show one in a message. */
#ifndef ROTA_OPTION_TEXT_H
#define ROTA_OPTION_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* UTF-8 without control characters; tabs pass where `tabs`. */
bool option_text_clean(const char *text, bool tabs);

/* The first byte that is not UTF-8; NULL: all are. */
const char *option_text_utf8(const char *text, size_t size);

/* Between 1 and 64 characters: letters, digits, and those of `extra`; the first is no character of `not_first`. */
bool option_text_name(const char *text, const char *extra, const char *not_first);

/* The name of a step or a group: a letter, then letters, digits, _ and -, 64 at most. */
bool option_text_label(const char *text);

/* A copy of text for a message: shortened, with control characters and invalid bytes as \xNN. Returns buffer. */
const char *option_text_quote(char *buffer, size_t size, const char *text, size_t length);
#define OPTION_QUOTE(text) option_text_quote((char[80]){0}, 80, text, strlen(text))

#endif
