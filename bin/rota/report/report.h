/* report.h - prints the answer of the API verb `report` as a page or on a terminal. */
#ifndef ROTA_BIN_REPORT_H
#define ROTA_BIN_REPORT_H

#include <jansson.h>
#include <stdbool.h>

#include "bin/rota/print/format.h"

/* Write a report as one self-contained HTML page with charts and numbers; `path` "-": to standard output. Returns false after
 * printing an error. */
bool report_page(const char *path, const json_t *answer);

/* Print a report on a terminal as a table with bars. */
void report_print(const json_t *answer, bool wide);

/* Returns a value of a report in the unit of its column: "h", "s", "percent", "count", "mib", "time", "text". */
struct word report_word(const json_t *value, const char *unit);

#endif
