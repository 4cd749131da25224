/* http_tls.h - TLS for the byte stream in lib/http_stream.c, in programs that link OpenSSL. */
#ifndef ROTA_HTTP_TLS_H
#define ROTA_HTTP_TLS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "lib/conf.h"
#include "lib/err.h"

/* Let this program use TLS, so that it can connect to jobmgrd at gate.url. */
void http_tls_use(void);

/* Functions by which http_stream.c calls TLS. `open` also sets *fd to the connected socket, which the caller closes; `connection`
 * returns the connection of OpenSSL, which stays theirs. */
struct http_tls;
struct ssl_st;
struct http_tls_way {
	struct http_tls *(*open)(const struct conf *conf, int *fd, struct err *e);
	void (*close)(struct http_tls *t);
	ssize_t (*read)(struct http_tls *t, void *data, size_t size, struct err *e);
	bool (*write)(struct http_tls *t, const void *data, size_t size, struct err *e);
	struct ssl_st *(*connection)(struct http_tls *t);
};
extern const struct http_tls_way *http_stream_tls;

/* Error messages and sockets that http_stream.c and http_tls.c share. Reads and writes without progress for HTTP_SILENCE_SECONDS
 * fail. */
#define HTTP_READING "could not read jobmgrd's answer"
#define HTTP_WRITING "could not send the request to jobmgrd"
enum { HTTP_SILENCE_SECONDS = 600 };
bool http_stream_fail(struct err *e, const char *what);
int http_stream_socket(int family, int protocol);

#endif
