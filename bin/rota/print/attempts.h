/* attempts.h - the attempts of steps, as `rota show`, `rota report` and `rota log` find them in answers of the gate. */
#ifndef ROTA_BIN_ATTEMPTS_H
#define ROTA_BIN_ATTEMPTS_H

#include <jansson.h>
#include <stdbool.h>

/* Append to `rows` the attempts of a step of a `show` answer that has several: each row has the members of its step, but for its own. */
void attempts_add(json_t *rows, const json_t *step);

/* The row of one attempt of a step of a `show` answer; a new object, NULL where there is no such attempt. */
json_t *attempts_row(const json_t *step, json_int_t attempt);

/* A table of rows, below an empty line; nothing where there are none. */
void attempts_print(const json_t *job, const json_t *rows, bool wide);

#endif
