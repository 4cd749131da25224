/* text.h - text made fit for where it is to stand: what a program printed, to be kept; a value, between quotes. */
#ifndef ROTA_TEXT_H
#define ROTA_TEXT_H

#include <stddef.h>

/* Make it UTF-8 without control characters other than tab and newline: each byte that is not becomes '?'. The length stays. */
void text_clean(char *text);

/* The last `most` bytes of these, clean and ended by a zero byte, for which there is room. */
void text_tail(char *text, size_t length, size_t most);

/* A value as it stands between single quotes in a connection string of libpq, and in postgresql.conf; malloc'ed. */
char *text_quoted(const char *text);

#endif
