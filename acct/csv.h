/* csv.h - values as CSV has them (RFC 4180): what holds a comma, a quote or a line's end stands in quotes. */
#ifndef ROTA_ACCT_CSV_H
#define ROTA_ACCT_CSV_H

#include <jansson.h>
#include <stdio.h>

/* A value as it is, nothing rounded; null: nothing. */
void csv_value(FILE *to, const json_t *value);
void csv_text(FILE *to, const char *text);

#endif
