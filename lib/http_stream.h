/* http_stream.h - the byte stream under lib/http.c: a Unix socket, or TLS over TCP. Calls block and fail after a time without
 * progress. */
#ifndef ROTA_HTTP_STREAM_H
#define ROTA_HTTP_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "lib/conf.h"
#include "lib/err.h"

struct http_stream;

/* Connect to jobmgrd at gate.url of the configuration if that is set, else at gate.socket. */
struct http_stream *http_stream_open(const struct conf *conf, struct err *e);
void http_stream_close(struct http_stream *s);

/* Read up to `size` bytes. Returns the number of bytes, 0 at the end of the stream, -1 on failure. */
ssize_t http_stream_read(struct http_stream *s, void *data, size_t size, struct err *e);
bool http_stream_write(struct http_stream *s, const void *data, size_t size, struct err *e);

/* Returns the socket, and sets *tls to the connection of OpenSSL on it, or to NULL. Both still belong to the stream, which closes
 * them. */
struct ssl_st;
int http_stream_socket_of(const struct http_stream *s, struct ssl_st **tls);

/* Returns true if the stream cannot serve another request, since the peer closed it or sent bytes without a request. */
bool http_stream_is_stale(struct http_stream *s);

#endif
