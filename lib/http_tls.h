/* http_tls.h - TLS for the byte stream in lib/http_stream.c, in programs that link OpenSSL. */
#ifndef ROTA_HTTP_TLS_H
#define ROTA_HTTP_TLS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "lib/conf.h"
#include "lib/err.h"

/* Let this program use TLS, so that it can connect to jobmgrd at gate.url. */
void http_tls_use(void);

/* Returns true if the last TLS operation on a socket with a time limit was interrupted by a signal, or because this process was
 * stopped and continued. The caller then repeats the operation. `result`: its return value, 0 if it returned false. */
struct ssl_st;
bool http_tls_is_interrupted(const struct ssl_st *ssl, int result);

/* Functions by which http_stream.c calls TLS. `open` also sets *fd to the connected socket, which the caller closes; `connection`
 * returns the connection of OpenSSL, which stays theirs. */
struct http_tls;
struct http_tls_way {
	struct http_tls *(*open)(const struct conf *conf, int *fd, struct err *e);
	void (*close)(struct http_tls *t);
	ssize_t (*read)(struct http_tls *t, void *data, size_t size, struct err *e);
	bool (*write)(struct http_tls *t, const void *data, size_t size, struct err *e);
	struct ssl_st *(*connection)(struct http_tls *t);
};
extern const struct http_tls_way *http_stream_tls;

/* Error messages and sockets that http_stream.c and http_tls.c share. A read without progress for HTTP_SILENCE_SECONDS fails, and so does a
 * write without progress for HTTP_SENDING_SECONDS. A write makes none when the kernel's buffers are full; a busy jobmgrd reads a piece from
 * each connection in turn. http_stream_connect() connects a socket with a time limit, after which errno is ETIMEDOUT. */
#define HTTP_READING "could not read jobmgrd's answer"
#define HTTP_WRITING "could not send the request to jobmgrd"
enum { HTTP_SILENCE_SECONDS = 600, HTTP_SENDING_SECONDS = 10 };
bool http_stream_fail(struct err *e, const char *what);
int http_stream_socket(int family, int protocol);
bool http_stream_connect(int fd, const struct sockaddr *address, socklen_t size);

#endif
