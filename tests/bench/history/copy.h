/* copy.h - rows of binary COPY: begin a row, then give its fields in the order of the columns. */
#ifndef ROTA_HISTORY_COPY_H
#define ROTA_HISTORY_COPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Rows of one table, one after the other; all zero: no rows. */
struct copy_rows {
	char *bytes;
	size_t size, room;
};

void copy_row(struct copy_rows *r, int fields);

void copy_null(struct copy_rows *r);
void copy_bytes(struct copy_rows *r, const void *bytes, size_t size);
void copy_text(struct copy_rows *r, const char *text); /* NULL: null */
void copy_int(struct copy_rows *r, int number);
void copy_int_or_null(struct copy_rows *r, int number, bool known);
void copy_long(struct copy_rows *r, int64_t number);
void copy_time(struct copy_rows *r, int64_t at); /* NEVER: null */
void copy_bool(struct copy_rows *r, bool is);
void copy_json(struct copy_rows *r, const char *text); /* a jsonb */
/* Begin an array of `count` texts or int4, whose values have `bytes` bytes together; add each value by copy_text or copy_int. */
void copy_array(struct copy_rows *r, int count, size_t bytes, bool texts);

#endif
