/* http.h - a client's one HTTP/1.1 connection to the gate, over a Unix socket or TLS; blocking, for command-line programs. */
#ifndef ROTA_HTTP_H
#define ROTA_HTTP_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/conf.h"
#include "lib/err.h"

struct http;

/* Connect to the gate that `conf` names: gate.url where set, else gate.socket. The caller keeps `conf`. */
struct http *http_open(const struct conf *conf, struct err *e);
void http_close(struct http *h);

/* Send one request (signed by munge) and read the whole answer; the connection is kept alive. *answer is malloc'ed and
 * NUL-terminated. False only when no answer came; an HTTP error is an answer. */
bool http_request(struct http *h, const char *method, const char *target, const void *body, size_t size, int *status, char **answer,
		  size_t *answer_size, struct err *e);

#endif
