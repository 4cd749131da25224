/* db_array.c - PostgreSQL array literals for parameters like bigint[] and text[].
 *
 * Called by: callers of api functions with array parameters.
 * Invariants:
 * - PostgreSQL reads a literal back to exactly the values added, whatever bytes they have. */
#include "lib/db.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/seal.h"

struct db_array {
	char *text; /* the literal without its closing brace, such as "{1,2"; db_array_literal() adds the brace */
	size_t length, room;
};

static void array_append(struct db_array *a, const char *bytes, size_t size)
{
	if (a->length + size + 2 > a->room) { /* 2 bytes for the closing brace and the NUL */
		a->room = (a->length + size + 2) * 2;
		a->text = xrealloc(a->text, a->room);
	}
	memcpy(a->text + a->length, bytes, size);
	a->length += size;
	a->text[a->length] = '\0';
}

static void array_next(struct db_array *a)
{
	if (a->length > 1)
		array_append(a, ",", 1);
}

struct db_array *db_array_new(void)
{
	struct db_array *a = xcalloc(1, sizeof *a);
	array_append(a, "{", 1);
	return a;
}

void db_array_free(struct db_array *a)
{
	if (a)
		free(a->text);
	free(a);
}

void db_array_int(struct db_array *a, int64_t value)
{
	char text[24];
	int length = snprintf(text, sizeof text, "%" PRId64, value);
	array_next(a);
	array_append(a, text, (size_t)length);
}

void db_array_text(struct db_array *a, const char *value)
{
	array_next(a);
	if (!value) {
		array_append(a, "NULL", 4);
		return;
	}
	array_append(a, "\"", 1);
	while (*value) {
		size_t plain = strcspn(value, "\"\\");
		array_append(a, value, plain);
		value += plain;
		if (*value) {
			char escaped[2] = {'\\', *value++};
			array_append(a, escaped, 2);
		}
	}
	array_append(a, "\"", 1);
}

void db_array_bytes(struct db_array *a, const void *data, int size)
{
	char *hex = xmalloc(2 * (size_t)size + 1);
	seal_hex(data, (size_t)size, hex);
	array_next(a);
	array_append(a, "\"\\\\x", 4);
	array_append(a, hex, 2 * (size_t)size);
	array_append(a, "\"", 1);
	free(hex);
}

const char *db_array_literal(struct db_array *a)
{
	a->text[a->length] = '}';
	a->text[a->length + 1] = '\0';
	return a->text;
}
