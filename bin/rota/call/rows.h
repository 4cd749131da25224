/* rows.h - long lists in the short form of the API: lines of fields separated by tabs, the newest first. */
#ifndef ROTA_BIN_ROWS_H
#define ROTA_BIN_ROWS_H

#include <jansson.h>
#include <stdbool.h>

/* Parse an answer {"lines": "..."} much faster than json_loads(); NULL: an answer of another form. *plain: the lines are printable ASCII, so
 * they have no control characters. */
json_t *rows_answer(const char *answer, bool *plain);

/* Call `each` with the fields of every line, the oldest first. Missing fields are "". */
void rows_each(const char *lines, int count, void (*each)(char **fields, void *arg), void *arg);

#endif
