/* http_stream.h - the bytes under lib/http.c: a Unix socket, or TLS over TCP; blocking, with a limit on silence. */
#ifndef ROTA_HTTP_STREAM_H
#define ROTA_HTTP_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "lib/conf.h"
#include "lib/err.h"

struct http_stream;

/* To gate.url where set, else to gate.socket. */
struct http_stream *http_stream_open(const struct conf *conf, struct err *e);
void http_stream_close(struct http_stream *s);

/* Some bytes; 0 at the end, -1 on failure. */
ssize_t http_stream_read(struct http_stream *s, void *data, size_t size, struct err *e);
bool http_stream_write(struct http_stream *s, const void *data, size_t size, struct err *e);

/* Closed by the other side, or with bytes to read that nobody asked for: of no use for another request. */
bool http_stream_is_stale(struct http_stream *s);

#endif
