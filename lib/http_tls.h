/* http_tls.h - TLS under lib/http_stream.c, for programs that link it. */
#ifndef ROTA_HTTP_TLS_H
#define ROTA_HTTP_TLS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "lib/conf.h"
#include "lib/err.h"

/* From now on this program reaches gates that have an URL. */
void http_tls_use(void);

/* How http_stream.c calls it; `open` gives the socket too, which stays the caller's to close. */
struct http_tls;
struct http_tls_way {
	struct http_tls *(*open)(const struct conf *conf, int *fd, struct err *e);
	void (*close)(struct http_tls *t);
	ssize_t (*read)(struct http_tls *t, void *data, size_t size, struct err *e);
	bool (*write)(struct http_tls *t, const void *data, size_t size, struct err *e);
};
extern const struct http_tls_way *http_stream_tls;

/* What both say of a failure, and their sockets, which give up when nothing moves. */
#define HTTP_READING "could not read the gate's answer"
#define HTTP_WRITING "could not send the request to the gate"
enum { HTTP_SILENCE_SECONDS = 600 };
bool http_stream_fail(struct err *e, const char *what);
int http_stream_socket(int family, int protocol);

#endif
