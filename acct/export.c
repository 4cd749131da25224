/* export.c - writes accounting rows as lines of fields, which a spreadsheet, awk or another accounting program reads. */
#include "acct/export.h"

#include "acct/csv.h"

/* Print a JSON value. "|" and control characters in a text become spaces. A real number is printed with all digits that the
 * database has of it. */
static void raw_print(FILE *to, const json_t *value)
{
	const char *text = json_string_value(value);

	if (json_is_integer(value))
		fprintf(to, "%lld", (long long)json_integer_value(value));
	else if (json_is_real(value))
		fprintf(to, "%.15g", json_real_value(value));
	for (; text && *text; text++)
		putc(*text == '|' || (unsigned char)*text < 0x20 ? ' ' : *text, to);
}

void acct_export_header(FILE *to, const struct acct_field *const *fields, int count, enum acct_form form)
{
	for (int f = 0; f < count; f++)
		fprintf(to, "%s%c", fields[f]->name, f + 1 == count ? '\n' : form == ACCT_CSV ? ',' : '|');
}

void acct_export(FILE *to, const json_t *rows, const struct acct_field *const *fields, int count, enum acct_form form)
{
	const json_t *row;
	size_t i;

	json_array_foreach (rows, i, row) {
		for (int f = 0; f < count; f++) {
			const json_t *value = json_object_get(row, fields[f]->name);

			if (form == ACCT_CSV)
				csv_value(to, value);
			else
				raw_print(to, value);
			putc(f + 1 == count ? '\n' : form == ACCT_CSV ? ',' : '|', to);
		}
	}
}
