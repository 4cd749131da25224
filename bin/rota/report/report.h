/* report.h - what the parts of `rota report` share: the answer of the gate's verb report, as a page or on a terminal. */
#ifndef ROTA_BIN_REPORT_H
#define ROTA_BIN_REPORT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "bin/rota/print/format.h"

/* One page that needs nothing else: the report with its charts and its numbers. */
void report_page(FILE *to, const json_t *answer);

/* A table with bars, for people. */
void report_print(const json_t *answer, bool wide);

/* A value in the unit of its column: "h", "s", "percent", "count", "mib", "time", "text". */
struct word report_word(const json_t *value, const char *unit);

#endif
