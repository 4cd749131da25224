/* rows.h - long lists in the short form of the API: lines of fields separated by tabs, the newest first. */
#ifndef ROTA_BIN_ROWS_H
#define ROTA_BIN_ROWS_H

#include <jansson.h>
#include <stdbool.h>

/* Parse an answer {"lines": "..."} much faster than json_loads(). Returns NULL for an answer of another form. *plain is true
 * if the lines are printable ASCII apart from tabs and newlines. */
json_t *rows_answer(const char *answer, bool *plain);

/* Call `each` with the `count` fields of every line, the oldest line first. Missing fields are "". */
void rows_each(const char *lines, int count, void (*each)(char **fields, void *arg), void *arg);

#endif
