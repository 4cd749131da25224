/* text.h - cleans the output of programs for storage, and quotes values for connection strings. */
#ifndef ROTA_TEXT_H
#define ROTA_TEXT_H

#include <stddef.h>

/* Make `text` valid UTF-8 without control characters other than tab and newline. Each offending byte becomes '?'. The length
 * stays. */
void text_clean(char *text);

/* Cut `text` of `length` bytes to its last `most` bytes, add a NUL, and clean the text as text_clean() does. The buffer has room
 * for the NUL after `length` or `most` bytes, whichever is less. */
void text_tail(char *text, size_t length, size_t most);

/* Returns `text` escaped for use between single quotes in a connection string of libpq or in postgresql.conf; malloc'ed. */
char *text_quoted(const char *text);

#endif
