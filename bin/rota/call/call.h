/* call.h - a verb's one way to the gate: send a request, get the answer as JSON, or have the refusal printed with its hint. */
#ifndef ROTA_BIN_CALL_H
#define ROTA_BIN_CALL_H

#include <jansson.h>
#include <stdbool.h>

#include "lib/conf.h"
#include "lib/err.h"

/* The configuration of the instance that is meant; read once. Ends the process with EXIT_NO_GATE where there is none. */
const struct conf *call_conf(void);

/* The same, NULL where there is none. */
const struct conf *call_conf_try(void);

/* --config was given. */
void call_use_config(const char *path);

/* --json was given: a refusal goes to standard output too, as the gate gave it. */
void call_use_json(void);

/* What to do before the reason of a failure is printed: a screen is given back first. */
void call_before_failure(void (*then)(void));

/* Send `request` (taken over, NULL = {}) to a verb of the gate. NULL when it did not answer or refused: the reason has then been
 * printed, and call_status() is what the process should exit with. */
json_t *call_gate(const char *verb, json_t *request);

/* The same, up to `tries` times while the gate is away or says to come back: only for what may be sent twice. Where that takes more
 * than two seconds it is said on standard error. */
enum { CALL_BRIEFLY = 6, CALL_LONG = 20 }; /* about three seconds, about three quarters of a minute */
json_t *call_gate_patiently(const char *verb, json_t *request, int tries);

/* Whether that was said since this was asked last: a screen has it on it then. */
bool call_waited(void);

/* The same, briefly, and not when so many seconds have passed since the first time, however long the machine slept: a key that makes a
 * request take effect once is known for a day. */
enum { CALL_ONCE_SECONDS = 12 * 3600 };
json_t *call_gate_once(const char *verb, json_t *request);

/* Once, without a word: false with the error when it did not answer or refused. */
bool call_try(const struct conf *conf, const char *verb, json_t *request, json_t **answer, struct err *e);

/* Exit status after a call_gate that gave NULL: EXIT_REFUSED, or EXIT_NO_GATE where the gate did not answer or could not ask
 * its database. */
int call_status(void);

/* Print the answer of the last call unchanged (--json). False when standard output is gone. */
void call_print_json(void);

/* Print an error and its hint, as all of `rota` does. */
void call_error(const struct err *e);

/* The same of what is refused before the gate is asked: with --json on standard output too, as the gate would (RT422 where `e` has no
 * code). The exit status of the process. */
int call_refuse(const struct err *e);

#endif
