/* export.h - accounting rows for programs. */
#ifndef ROTA_ACCT_EXPORT_H
#define ROTA_ACCT_EXPORT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "acct/field.h"

/* Write rows (the "rows" of GET /v1/acct) as lines of fields with | between, names first where `header` is set; nothing is cut
 * or rounded, and what would part fields or lines becomes a space. */
void acct_export(FILE *to, const json_t *rows, const struct acct_field *const *fields, int count, bool header);

#endif
