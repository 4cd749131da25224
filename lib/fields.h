/* fields.h - the field format of all data that root reads: launch requests and their specs, journal records, launcher messages.
 *
 * A text is a sequence of fields `name=length:value\n`. Names are [a-z0-9_]+, values are bytes without NUL, lengths are decimal
 * without leading zeros. The text parses without look-ahead. One content has one spelling, so the text can be hashed and
 * signed. */
#ifndef ROTA_FIELDS_H
#define ROTA_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/err.h"

struct fields; /* a text of fields, parsed or under construction; owns its bytes */

struct fields *fields_new(void);
void fields_free(struct fields *f);

/* Add an owner to `f`, who calls fields_free() too. No field may be appended to `f` from now on. */
struct fields *fields_share(const struct fields *f);

/* Append one field to a text under construction. */
void fields_add(struct fields *f, const char *name, const char *value);
void fields_add_int(struct fields *f, const char *name, int64_t value);

/* Returns the text of all fields so far. It is NUL-terminated and owned by `f`. */
const char *fields_text(const struct fields *f, size_t *length);

/* Parse a whole text of fields. Returns NULL if a name is bad or given twice, if a length overruns the text, if a value has a
 * NUL, or if bytes follow the last field. */
struct fields *fields_parse(const char *text, size_t length, struct err *e);

/* Returns the value of the field `name`, or NULL if the field is absent. The value is valid until fields_free(). */
const char *fields_get(const struct fields *f, const char *name);

/* Returns the number of fields, or the name or the value of field i in the order of the text, 0 <= i < fields_count(f). */
int fields_count(const struct fields *f);
const char *fields_name(const struct fields *f, int i);
const char *fields_value(const struct fields *f, int i);

/* Read the field `name` as a decimal integer. Fails if the field is absent, malformed or not within [lowest, highest]. */
bool fields_int(const struct fields *f, const char *name, int64_t lowest, int64_t highest, int64_t *value, struct err *e);

/* Read the field `name` as fields_int() does. If the field is absent, *value becomes `otherwise`. */
bool fields_int_or(const struct fields *f, const char *name, int64_t lowest, int64_t highest, int64_t otherwise, int64_t *value,
		   struct err *e);

#endif
