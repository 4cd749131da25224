/* copy.c - rows of binary COPY, each field as the server's receive function reads it. */
#include "copy.h"

#include <arpa/inet.h>
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "job.h"

enum { INT4_OID = 23, TEXT_OID = 25 };

static void put(struct copy_rows *r, const void *bytes, size_t size)
{
	if (r->size + size > r->room) {
		r->room = r->room * 2 + size + 65536;
		r->bytes = realloc(r->bytes, r->room);
		if (!r->bytes)
			abort();
	}
	memcpy(r->bytes + r->size, bytes, size);
	r->size += size;
}

static void put_short(struct copy_rows *r, int number)
{
	uint16_t big = htons((uint16_t)number);

	put(r, &big, sizeof big);
}

static void put_word(struct copy_rows *r, int number)
{
	uint32_t big = htonl((uint32_t)number);

	put(r, &big, sizeof big);
}

void copy_null(struct copy_rows *r)
{
	put_word(r, -1);
}

void copy_bytes(struct copy_rows *r, const void *bytes, size_t size)
{
	put_word(r, (int)size);
	put(r, bytes, size);
}

void copy_text(struct copy_rows *r, const char *text)
{
	if (text)
		copy_bytes(r, text, strlen(text));
	else
		copy_null(r);
}

void copy_int(struct copy_rows *r, int number)
{
	put_word(r, sizeof number);
	put_word(r, number);
}

void copy_int_or_null(struct copy_rows *r, int number, bool known)
{
	if (known)
		copy_int(r, number);
	else
		copy_null(r);
}

void copy_long(struct copy_rows *r, int64_t number)
{
	uint64_t big = htobe64((uint64_t)number);

	copy_bytes(r, &big, sizeof big);
}

void copy_time(struct copy_rows *r, int64_t at)
{
	if (at == NEVER)
		copy_null(r);
	else
		copy_long(r, at);
}

void copy_bool(struct copy_rows *r, bool is)
{
	copy_bytes(r, is ? "\1" : "\0", 1);
}

void copy_json(struct copy_rows *r, const char *text)
{
	put_word(r, (int)strlen(text) + 1);
	put(r, "\1", 1);
	put(r, text, strlen(text));
}

void copy_row(struct copy_rows *r, int fields)
{
	put_short(r, fields);
}

void copy_array(struct copy_rows *r, int count, size_t bytes, bool texts)
{
	put_word(r, (int)(20 + 4 * (size_t)count + bytes));
	put_word(r, 1); /* dimensions */
	put_word(r, 0); /* nulls */
	put_word(r, texts ? TEXT_OID : INT4_OID);
	put_word(r, count);
	put_word(r, 1); /* lower bound */
}
