/* order_field.c - parses and writes members of a struct as fields, as a table says: one loop parses, one writes.
 *
 * Called by: order.c, for launch requests and specs.
 * Invariants:
 * - Fields are in the order of the table. Fields of the kinds MARK, SOME and EXTRA are optional, and absent if their value is
 *   false, 0 or NULL.
 * - A member is set only to a value that the table accepts. */
#include "lib/order_field.h"

#include <string.h>
#include <sys/types.h>

_Static_assert(sizeof(uid_t) == 4 && sizeof(gid_t) == 4, "ORDER_FIELD_ID stands for 32 bits");

/* Read one field, check it, and set its member in `object`. */
static bool field_read(const struct order_field *field, const struct fields *f, void *object, struct err *e)
{
	void *member = (char *)object + field->offset;
	if (field->kind >= ORDER_FIELD_TEXT) {
		const char *value = fields_get(f, field->name);
		*(const char **)member = value;
		return field->check(value) || err_set(e, "field \"%s\" is not %s: \"%.80s\"", field->name, field->what, value);
	}
	int64_t n = 0;
	if (!fields_int(f, field->name, field->lowest, field->highest, &n, e))
		return false;
	switch (field->kind) {
	case ORDER_FIELD_INT:
	case ORDER_FIELD_SOME:
		*(int *)member = (int)n;
		break;
	case ORDER_FIELD_ID:
		*(uint32_t *)member = (uint32_t)n;
		break;
	case ORDER_FIELD_BOOL:
	case ORDER_FIELD_MARK:
		*(bool *)member = n == 1;
		break;
	default:
		*(int64_t *)member = n;
	}
	return true;
}

/* Returns true if a field of this kind may be absent. An absent field means false, 0 or NULL. */
static bool field_is_optional(enum order_field_kind kind)
{
	return kind == ORDER_FIELD_MARK || kind == ORDER_FIELD_SOME || kind == ORDER_FIELD_EXTRA;
}

int order_fields_read(const struct order_field *table, int count, const struct fields *f, void *object, struct err *e)
{
	int at = 0;
	for (int i = 0; i < count; i++) {
		bool more = at < fields_count(f), here = more && strcmp(fields_name(f, at), table[i].name) == 0;
		if (here && !field_read(&table[i], f, object, e))
			return -1;
		if (!here && !field_is_optional(table[i].kind)) {
			if (more)
				err_set(e, "field \"%s\" is out of place: field \"%s\" is expected there", fields_name(f, at),
					table[i].name);
			else
				err_set(e, "field \"%s\" is missing", table[i].name);
			return -1;
		}
		at += here;
	}
	return at;
}

bool order_fields_end(const struct fields *f, int count, struct err *e)
{
	return fields_count(f) == count || err_set(e, "unknown field \"%s\"", fields_name(f, count));
}

void order_fields_write(const struct order_field *table, int count, struct fields *f, const void *object)
{
	for (int i = 0; i < count; i++) {
		const void *member = (const char *)object + table[i].offset;
		switch (table[i].kind) {
		case ORDER_FIELD_INT:
			fields_add_int(f, table[i].name, *(const int *)member);
			break;
		case ORDER_FIELD_ID:
			fields_add_int(f, table[i].name, *(const uint32_t *)member);
			break;
		case ORDER_FIELD_BOOL:
			fields_add_int(f, table[i].name, *(const bool *)member);
			break;
		case ORDER_FIELD_MARK:
			if (*(const bool *)member)
				fields_add_int(f, table[i].name, 1);
			break;
		case ORDER_FIELD_SOME:
			if (*(const int *)member > 0)
				fields_add_int(f, table[i].name, *(const int *)member);
			break;
		case ORDER_FIELD_INT64:
			fields_add_int(f, table[i].name, *(const int64_t *)member);
			break;
		case ORDER_FIELD_TEXT:
			fields_add(f, table[i].name, *(const char *const *)member ? *(const char *const *)member : "");
			break;
		case ORDER_FIELD_EXTRA:
			if (*(const char *const *)member)
				fields_add(f, table[i].name, *(const char *const *)member);
		}
	}
}
