/* rows.h - a long list as the gate answers it in short: lines of fields with tabs between, the newest first. */
#ifndef ROTA_BIN_ROWS_H
#define ROTA_BIN_ROWS_H

#include <jansson.h>

/* An answer that is nothing but {"lines": "..."}, as json_loads would read it but in a fraction of the time; NULL for any other. */
json_t *rows_answer(const char *answer);

/* Call `each` with the fields of every line, the oldest first; what a line lacks is "". */
void rows_each(const char *lines, int count, void (*each)(char **fields, void *arg), void *arg);

#endif
