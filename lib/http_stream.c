/* http_stream.c - connects to jobmgrd and moves bytes: over a Unix socket, or through http_tls.c.
 *
 * Called by: http.c.
 * Invariants:
 * - No write raises SIGPIPE.
 * - A read without progress for HTTP_SILENCE_SECONDS fails, and a write without progress for HTTP_SENDING_SECONDS.
 * - TLS is used only after http_tls_use(). Programs that do not call it do not load the libraries of TLS, since loading them
 *   takes longer than a request. */
#include "lib/http_stream.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "lib/http_tls.h"

struct http_stream {
	int fd;
	struct http_tls *tls; /* NULL: the stream has no TLS */
};

static const char start_hint[] = "start it with \"rota up\", or set ROTA_HOME";
const struct http_tls_way *http_stream_tls;

/* Set the error for a failed read or write. EAGAIN means that the time limit of the socket has run out. */
bool http_stream_fail(struct err *e, const char *what)
{
	bool is_late = errno == EAGAIN || errno == EWOULDBLOCK;
	if (is_late && strcmp(what, HTTP_WRITING) == 0)
		return err_set(e, "%s: jobmgrd has read nothing for %d seconds", what, (int)HTTP_SENDING_SECONDS);
	if (is_late)
		return err_set(e, "%s: no data within %d seconds", what, (int)HTTP_SILENCE_SECONDS);
	return err_sys(e, "%s", what);
}

int http_stream_socket(int family, int protocol)
{
	struct timeval silence = {HTTP_SILENCE_SECONDS, 0}, sending = {HTTP_SENDING_SECONDS, 0};
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, protocol);
	if (fd >= 0) {
		setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &silence, sizeof silence);
		setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &sending, sizeof sending);
	}
	return fd;
}

bool http_stream_connect(int fd, const struct sockaddr *address, socklen_t size)
{
	int result;
	do
		result = connect(fd, address, size);
	while (result && errno == EINTR); /* a signal interrupted poll(); the kernel goes on connecting, so wait again */
	if (result && (errno == EINPROGRESS || errno == EALREADY))
		errno = ETIMEDOUT;
	return result == 0;
}

static bool unix_connect(struct http_stream *s, const char *path, struct err *e)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	if (strlen(path) >= sizeof address.sun_path)
		return err_set(e,
			       "the path of jobmgrd's socket is too long: \"%s\"; set a shorter one as \"socket\" in section "
			       "\"gate\" of rota.conf",
			       path);
	strcpy(address.sun_path, path);
	s->fd = http_stream_socket(AF_UNIX, 0);
	if (s->fd >= 0 && http_stream_connect(s->fd, (const struct sockaddr *)&address, sizeof address))
		return true;
	bool absent = errno == ENOENT || errno == ECONNREFUSED;
	err_sys(e, "could not reach jobmgrd at \"%s\"", path);
	return absent ? err_hint(e, "%s", start_hint) : false;
}

struct http_stream *http_stream_open(const struct conf *conf, struct err *e)
{
	struct http_stream *s = xcalloc(1, sizeof *s);
	bool ok;

	s->fd = -1;
	if (!*conf->gate_url)
		ok = unix_connect(s, conf->gate_socket, e);
	else if (http_stream_tls)
		ok = (s->tls = http_stream_tls->open(conf, &s->fd, e)) != NULL;
	else
		ok = err_set(e, "this program has no TLS, which \"%s\" needs (\"url\" in section \"gate\" of rota.conf)",
			     conf->gate_url);
	if (ok)
		return s;
	http_stream_close(s);
	return NULL;
}

void http_stream_close(struct http_stream *s)
{
	if (!s)
		return;
	if (s->tls)
		http_stream_tls->close(s->tls);
	if (s->fd >= 0)
		close(s->fd);
	free(s);
}

ssize_t http_stream_read(struct http_stream *s, void *data, size_t size, struct err *e)
{
	if (s->tls)
		return http_stream_tls->read(s->tls, data, size, e);
	ssize_t n;
	do
		n = recv(s->fd, data, size, 0);
	while (n < 0 && errno == EINTR);
	if (n < 0 && errno == ECONNRESET)
		return 0;
	if (n < 0)
		http_stream_fail(e, HTTP_READING);
	return n;
}

bool http_stream_write(struct http_stream *s, const void *data, size_t size, struct err *e)
{
	if (size == 0)
		return true;
	if (s->tls)
		return http_stream_tls->write(s->tls, data, size, e);
	for (size_t done = 0; done < size;) {
		ssize_t n = send(s->fd, (const char *)data + done, size - done, MSG_NOSIGNAL);
		if (n < 0 && errno != EINTR)
			return http_stream_fail(e, HTTP_WRITING);
		done += n > 0 ? (size_t)n : 0;
	}
	return true;
}

bool http_stream_is_stale(struct http_stream *s)
{
	struct pollfd p = {.fd = s->fd, .events = POLLIN};
	return poll(&p, 1, 0) != 0;
}

int http_stream_socket_of(const struct http_stream *s, struct ssl_st **tls)
{
	*tls = s->tls ? http_stream_tls->connection(s->tls) : NULL;
	return s->fd;
}
