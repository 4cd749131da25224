/* attempts.h - the attempts of steps in answers of the HTTP API, for `rota show`, `rota report` and `rota log`. */
#ifndef ROTA_BIN_ATTEMPTS_H
#define ROTA_BIN_ATTEMPTS_H

#include <jansson.h>
#include <stdbool.h>

/* Returns true if the step of a `show` answer has no attempt since its last requeue: it ended without a start, or has not
 * started. */
bool attempts_is_unstarted(const json_t *step);

/* Append the attempts of a step of a `show` answer to `rows`, if the step has several, or one from before its last requeue.
 * Each row has the members of the step, replaced by those of the attempt. */
void attempts_add(json_t *rows, const json_t *step);

/* Returns the row of one attempt of a step of a `show` answer, a new object. Returns NULL if there is no such attempt. */
json_t *attempts_row(const json_t *step, json_int_t attempt);

/* Print an empty line and a table of attempts. Prints nothing if there are no attempts. */
void attempts_print(const json_t *job, const json_t *rows, bool wide);

#endif
