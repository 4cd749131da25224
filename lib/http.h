/* http.h - the HTTP/1.1 connection of a command-line program to jobmgrd, over a Unix socket or TLS. All calls block. */
#ifndef ROTA_HTTP_H
#define ROTA_HTTP_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/conf.h"
#include "lib/err.h"

struct http;

/* Connect to jobmgrd at gate.url of the configuration if that is set, else at gate.socket. The caller keeps `conf`. */
struct http *http_open(const struct conf *conf, struct err *e);
void http_close(struct http *h);

/* Send one HTTP request with a munge credential and read the whole answer. The connection is kept alive. *answer is malloc'ed and
 * NUL-terminated. Returns false only if no complete answer came; an HTTP error status is an answer. */
bool http_request(struct http *h, const char *method, const char *target, const void *body, size_t size, int *status,
		  char **answer, size_t *answer_size, struct err *e);

/* Send a request that asks for another protocol on its connection (the header "Upgrade"). If jobmgrd agrees, *status is 101, and the
 * connection is the caller's until http_close(): see http_socket(). Otherwise *answer is as from http_request(). */
bool http_upgrade(struct http *h, const char *target, const char *body, const char *protocol, int *status, char **answer,
		  struct err *e);

/* Returns the socket after http_upgrade(), and sets *tls to the connection of OpenSSL on it, or to NULL for a Unix socket. */
struct ssl_st;
int http_socket(const struct http *h, struct ssl_st **tls);

#endif
