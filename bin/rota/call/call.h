/* call.h - requests of verbs to the HTTP API of jobmgrd: send JSON, receive JSON, print refusals with their hints. */
#ifndef ROTA_BIN_CALL_H
#define ROTA_BIN_CALL_H

#include <jansson.h>
#include <stdbool.h>

#include "lib/conf.h"
#include "lib/err.h"

/* The configuration of the instance; read once. Ends the process with EXIT_NO_GATE if there is none. */
const struct conf *call_conf(void);

/* The same; NULL: there is none. */
const struct conf *call_conf_try(void);

/* Handle --config. */
void call_use_config(const char *path);

/* Handle --json: refusals then also go to standard output, as jobmgrd sent them. */
void call_use_json(void);

/* Call `then` before an error is printed, for example to leave a full-screen display. */
void call_before_failure(void (*then)(void));

/* Send `request` to a verb of the API and free it (NULL stands for {}). NULL: no answer or a refusal; the reason is printed, and
 * call_status() is the exit status. */
json_t *call_gate(const char *verb, json_t *request);

/* The same, up to `tries` times while jobmgrd does not answer or is unavailable. Only for requests that may be sent twice. Prints a message
 * after two seconds. */
enum { CALL_BRIEFLY = 6, CALL_LONG = 20 }; /* about three seconds, about three quarters of a minute */
json_t *call_gate_patiently(const char *verb, json_t *request, int tries);

/* Was that message printed since the last call? Then it is on the screen. */
bool call_waited(void);

/* The same, CALL_BRIEFLY times, but not beyond a time limit, even if the machine was suspended: the database keeps the key that makes a
 * request take effect only once for a day. */
enum { CALL_ONCE_SECONDS = 12 * 3600 };
json_t *call_gate_once(const char *verb, json_t *request);

/* Send once and print nothing. False with the error: no answer or a refusal. */
bool call_try(const struct conf *conf, const char *verb, json_t *request, json_t **answer, struct err *e);

/* Exit status after call_gate returned NULL: EXIT_REFUSED, or EXIT_NO_GATE if jobmgrd did not answer or had no connection to the database. */
int call_status(void);

/* Print the answer of the last call unchanged (--json). False when standard output is gone. */
void call_print_json(void);

/* Print an error and its hint. */
void call_error(const struct err *e);

/* The same for a request that rota refuses itself. With --json, the error also goes to standard output, in the form of the API (RT422 if `e`
 * has no code). Returns the exit status. */
int call_refuse(const struct err *e);

#endif
