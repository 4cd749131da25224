/* text.h - reads UTF-8 characters, cleans the output of programs for storage, and quotes values for connection strings. */
#ifndef ROTA_TEXT_H
#define ROTA_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Returns the number of bytes of the UTF-8 character at `text`, or 0 if there is no valid one. The NUL at the end of a text counts
 * as a character of one byte. */
size_t text_character_size(const char *text);

/* Returns the number of bytes of the control character at `text` (UTF-8), or 0 if there is none. Control characters are U+0000 to
 * U+001F, U+007F to U+009F, and those that change the direction of text (U+202A to U+202E, U+2066 to U+2069), by which a text can
 * look like another one on a terminal. */
size_t text_control_size(const char *text);

/* Make `text` valid UTF-8 without control characters other than tab and newline. Each byte of anything else becomes '?'. The
 * length stays. */
void text_clean(char *text);

/* Make room in a buffer for output of which text_tail() will keep the last `most` bytes. If `length` bytes leave room only for a NUL in the
 * buffer of `size` bytes, drop the first ones. `size` is at least `most` + 3. Returns the number of bytes that are left. */
size_t text_tail_room(char *text, size_t length, size_t size, size_t most);

/* Cut `text` of `length` bytes to its last `most` bytes, add a NUL, and clean the text as text_clean() does. A character that the cut
 * splits is dropped. The buffer has room for the NUL after `length` or `most` bytes, whichever is less. */
void text_tail(char *text, size_t length, size_t most);

/* Cut `text` to `most` bytes, at least 3, of which the last are "...". It is cut between characters. A shorter text stays. */
void text_cut(char *text, size_t most);

/* Write `text` and a newline between double quotes, as the configuration of curl has texts. */
void text_write_quoted(FILE *out, const char *text);

/* Returns `text` escaped for use between single quotes in a connection string of libpq or in postgresql.conf; malloc'ed. */
char *text_quoted(const char *text);

/* Returns what a noun behind a number ends in: "" for 1, or "s". */
const char *text_plural(int64_t count);

/* Read a range of numbers such as "60000-60999", both from `lowest` to `highest`, and the first one not above the last. */
bool text_range(const char *text, int lowest, int highest, int *first, int *last);

#endif
