/* rows.h - a long list as the gate answers it in short: lines of fields with tabs between, the newest first. */
#ifndef ROTA_BIN_ROWS_H
#define ROTA_BIN_ROWS_H

#include <jansson.h>
#include <stdbool.h>

/* An answer that is nothing but {"lines": "..."}, as json_loads would read it but in a fraction of the time; NULL for any other. *plain:
 * the lines are printable ASCII, so nothing in them works a terminal. */
json_t *rows_answer(const char *answer, bool *plain);

/* Call `each` with the fields of every line, the oldest first; what a line lacks is "". */
void rows_each(const char *lines, int count, void (*each)(char **fields, void *arg), void *arg);

#endif
