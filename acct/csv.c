/* csv.c - writes texts and JSON values as fields of CSV (RFC 4180), for spreadsheets. */
#include "acct/csv.h"

#include <string.h>

void csv_text(FILE *to, const char *text)
{
	if (!text[strcspn(text, ",\"\r\n")]) {
		fputs(text, to);
		return;
	}
	putc('"', to);
	for (; *text; text++) {
		if (*text == '"')
			putc('"', to);
		putc(*text, to);
	}
	putc('"', to);
}

void csv_value(FILE *to, const json_t *value)
{
	if (json_is_integer(value))
		fprintf(to, "%lld", (long long)json_integer_value(value));
	else if (json_is_real(value))
		fprintf(to, "%.15g", json_real_value(value));
	else if (json_is_boolean(value))
		fputs(json_is_true(value) ? "true" : "false", to);
	else if (json_is_string(value))
		csv_text(to, json_string_value(value));
}
