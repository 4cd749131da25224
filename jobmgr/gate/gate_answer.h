/* gate_answer.h - errors as HTTP answers, and reading answers of the database. For gate*.c only. */
#ifndef ROTA_GATE_ANSWER_H
#define ROTA_GATE_ANSWER_H

#include <jansson.h>
#include <stdbool.h>

#include "lib/err.h"

/* Set an error that the API itself found. `code` is "RT" and the HTTP status, as the SQLSTATEs of Rota's SQL functions. Returns
 * false, as err_set() does. */
bool gate_refuse(struct err *e, const char *code, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Returns the HTTP status for an SQLSTATE. */
int gate_answer_status(const char *code);

/* Returns the reason phrase of an HTTP status. */
const char *gate_answer_reason(int status);

/* Returns a pointer to the value of a member of the outermost object of a JSON text, or NULL if there is no such member. The
 * function makes no JSON values, so a long answer takes no memory, and it reads each byte once. */
const char *gate_answer_member(const char *text, const char *name);

/* Returns an error as JSON text, {"error":{"code","message","hint"}}, malloc'ed. "hint" is null if the error has none. `problems`
 * (stolen, may be NULL) becomes a member of "error". */
char *gate_answer_error(const struct err *e, json_t *problems);

#endif
