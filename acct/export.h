/* export.h - writes accounting rows in forms that other programs read. */
#ifndef ROTA_ACCT_EXPORT_H
#define ROTA_ACCT_EXPORT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "acct/field.h"

enum acct_form { ACCT_BARS, ACCT_CSV };

/* Write the line of field names, or one line for each of `rows`, the "rows" in an answer of GET /v1/acct. ACCT_BARS has "|"
 * between fields, and replaces "|" and control characters in a text by spaces. No text is cut. */
void acct_export_header(FILE *to, const struct acct_field *const *fields, int count, enum acct_form form);
void acct_export(FILE *to, const json_t *rows, const struct acct_field *const *fields, int count, enum acct_form form);

#endif
