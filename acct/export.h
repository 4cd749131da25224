/* export.h - accounting rows for programs. */
#ifndef ROTA_ACCT_EXPORT_H
#define ROTA_ACCT_EXPORT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "acct/field.h"

enum acct_form { ACCT_BARS, ACCT_CSV };

/* The names of fields, and rows (the "rows" of GET /v1/acct), a line each: with | between, what would part fields or lines being a space, or as
 * CSV. Nothing is cut or rounded. */
void acct_export_header(FILE *to, const struct acct_field *const *fields, int count, enum acct_form form);
void acct_export(FILE *to, const json_t *rows, const struct acct_field *const *fields, int count, enum acct_form form);

#endif
