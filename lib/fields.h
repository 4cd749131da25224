/* fields.h - the one format of what root reads: launch specs, orders, journal records, launcher messages.
 *
 * A text of fields `name=length:value\n`, in the order they were written; names are [a-z0-9_]+, values any
 * bytes without NUL, lengths decimal without leading zeros. It parses without look-ahead and has one
 * spelling for one content, so it can be hashed and signed. */
#ifndef ROTA_FIELDS_H
#define ROTA_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/err.h"

struct fields; /* parsed or under construction; owns its bytes */

struct fields *fields_new(void);
void fields_free(struct fields *f);

/* One more owner, who frees it too; nothing may be appended to it any more. */
struct fields *fields_share(const struct fields *f);

/* Append one field. */
void fields_add(struct fields *f, const char *name, const char *value);
void fields_add_int(struct fields *f, const char *name, int64_t value);

/* The text so far; NUL-terminated, owned by f. */
const char *fields_text(const struct fields *f, size_t *length);

/* Parse a whole text. Refuses: a bad name, a length that overruns, a NUL, a name given twice, anything behind the last field. */
struct fields *fields_parse(const char *text, size_t length, struct err *e);

/* The value of a field, or NULL where it is absent; good until fields_free. */
const char *fields_get(const struct fields *f, const char *name);

/* All fields in the order they stand in, 0 <= i < fields_count(f). */
int fields_count(const struct fields *f);
const char *fields_name(const struct fields *f, int i);
const char *fields_value(const struct fields *f, int i);

/* The value as a decimal integer within [lowest, highest]; error when absent, malformed or out of range. */
bool fields_int(const struct fields *f, const char *name, int64_t lowest, int64_t highest, int64_t *value, struct err *e);

/* As fields_int, but `otherwise` where the field is absent. */
bool fields_int_or(const struct fields *f, const char *name, int64_t lowest, int64_t highest, int64_t otherwise, int64_t *value,
		   struct err *e);

#endif
