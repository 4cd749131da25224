/* call.h - requests of verbs to the HTTP API of jobmgrd: send JSON, receive JSON, print refusals with their hints. */
#ifndef ROTA_BIN_CALL_H
#define ROTA_BIN_CALL_H

#include <jansson.h>
#include <stdbool.h>

#include "lib/conf.h"
#include "lib/err.h"

struct http;

/* The configuration of the instance; read once. Ends the process with EXIT_NO_GATE if there is none. */
const struct conf *call_conf(void);

/* Returns the configuration of the instance, NULL if there is none. */
const struct conf *call_conf_try(void);

/* Handle --config: use the rota.conf at `path`. */
void call_use_config(const char *path);

/* Returns the path that --config gave, NULL without it. */
const char *call_config_path(void);

/* Handle --json: refusals then also go to standard output, as jobmgrd sent them. */
void call_use_json(void);

/* Handle --stale-ok: requests accept an answer from a standby while no database can be written to. Such requests are tried for
 * some seconds, and a message says how old the answer is. */
void call_use_stale(void);

/* Returns the member "stale" of the last answer, NULL if the answer is up to date. */
const json_t *call_stale(void);

/* Call `then` before an error is printed, for example to leave a full-screen display. */
void call_before_failure(void (*then)(void));

/* Send `request` (NULL stands for {}) to a verb of the HTTP API, and free the request. Returns NULL after a refusal or without
 * an answer; the reason is then printed, and call_status() gives the exit status. */
json_t *call_gate(const char *verb, json_t *request);

/* Send a request as call_gate() does, for up to client.patience seconds while jobmgrd does not answer or is unavailable, counting
 * time in which the machine is suspended. Only for requests that may be sent twice: the database keeps the key of a submission for a
 * day, longer than any patience. Prints a message after two seconds of waiting. */
json_t *call_gate_patiently(const char *verb, json_t *request);

/* Returns true if the message that the command waits for jobmgrd was printed since the last call of this function, so it is on
 * the screen. */
bool call_waited(void);

/* Send a request once, free it and print nothing. Returns false with an error after a refusal or without an answer. */
bool call_try(const struct conf *conf, const char *verb, json_t *request, json_t **answer, struct err *e);

/* Send a request that turns a new connection into a stream of another protocol, free it and print nothing. Returns the connection for
 * http_socket(), NULL with an error. */
struct http *call_upgrade(const struct conf *conf, const char *verb, json_t *request, const char *protocol, struct err *e);

/* Returns the exit status after call_gate() returned NULL: EXIT_REFUSED, or EXIT_NO_GATE if jobmgrd did not answer or had no
 * connection to the database. */
int call_status(void);

/* Print the answer of the last call unchanged (--json). */
void call_print_json(void);

/* Print an error and its hint. */
void call_error(const struct err *e);

/* Print an error and its hint for a request that rota itself refuses. With --json, also print the error on standard output in
 * the form of the API (RT422 if `e` has no code). Returns the exit status. */
int call_refuse(const struct err *e);

#endif
