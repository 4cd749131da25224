/* option_text.h - texts of users: which are valid, and how to show one in a message. */
#ifndef ROTA_OPTION_TEXT_H
#define ROTA_OPTION_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* Is the text UTF-8 without control characters? With `tabs`, tabs are allowed. */
bool option_text_clean(const char *text, bool tabs);

/* Returns the first byte of a text that is not UTF-8, or NULL if the whole text is UTF-8. */
const char *option_text_utf8(const char *text, size_t size);

/* Does a text have 1 to 64 characters, all of them letters, digits or characters of `extra`? The first character must not be in
 * `not_first`. */
bool option_text_name(const char *text, const char *extra, const char *not_first);

/* Is a text a valid name of a step or job group: a letter, then letters, digits, _ and -, at most 64 characters? */
bool option_text_label(const char *text);

/* Copy a text to `buffer` for a message: shortened, with control characters and invalid bytes as \xNN. Returns `buffer`. */
const char *option_text_quote(char *buffer, size_t size, const char *text, size_t length);
#define OPTION_QUOTE(text) option_text_quote((char[80]){0}, 80, text, strlen(text))

#endif
