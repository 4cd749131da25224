/* csv.h - writes values as CSV (RFC 4180). A text with a comma, a quote or a line break is put in quotes. */
#ifndef ROTA_ACCT_CSV_H
#define ROTA_ACCT_CSV_H

#include <jansson.h>
#include <stdio.h>

/* Write a JSON value as one CSV field. Null becomes an empty field, and a real number has up to 15 significant digits. */
void csv_value(FILE *to, const json_t *value);
void csv_text(FILE *to, const char *text);

#endif
