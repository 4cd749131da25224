/* order_field.h - members of a struct as fields of a text. A table has the fields, their order and valid values. */
#ifndef ROTA_ORDER_FIELD_H
#define ROTA_ORDER_FIELD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/err.h"
#include "lib/fields.h"

enum order_field_kind {
	ORDER_FIELD_INT,
	ORDER_FIELD_INT64,
	ORDER_FIELD_ID, /* a uid_t or gid_t */
	ORDER_FIELD_BOOL,
	ORDER_FIELD_MARK, /* a bool whose field is written only if the bool is true */
	ORDER_FIELD_SOME, /* an int whose field is written only if the number is above 0 */
	ORDER_FIELD_TEXT,
	ORDER_FIELD_EXTRA /* a text whose field is written only if the text is not NULL */
};

struct order_field {
	const char *name;
	enum order_field_kind kind;
	size_t offset;			  /* offset of the member in its struct */
	int64_t lowest, highest;	  /* range of a number */
	bool (*check)(const char *value); /* whether a text is a valid value of the member */
	const char *what;		  /* description of a valid text, for error messages */
};

/* Read the fields of the table, in their order, from the front of `f` into `object`. Returns how many fields were read, or -1 if a
 * field is wrong or missing. */
int order_fields_read(const struct order_field *table, int count, const struct fields *f, void *object, struct err *e);
/* Returns true if `f` has `count` fields and no more. */
bool order_fields_end(const struct fields *f, int count, struct err *e);
/* Add the members of `object` to `f`, as the table says. */
void order_fields_write(const struct order_field *table, int count, struct fields *f, const void *object);

#endif
