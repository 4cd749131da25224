/* http_stream.c - connect to the gate and move bytes, plain over a Unix socket or through TLS over TCP.
 *
 * lib/http.c alone calls it. What always holds: TLS is 1.2 or newer and the gate's certificate is good for the host that
 * gate.url names; no write raises SIGPIPE; a read or write that stands still for SILENCE_SECONDS fails. */
#include "lib/http_stream.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

enum { SILENCE_SECONDS = 600 };

struct http_stream {
	int fd;
	SSL_CTX *context;
	SSL *ssl; /* NULL: plain */
};

static const char start_hint[] = "start it with \"rota up\", or set ROTA_HOME";

/* Our own limits show as EAGAIN. */
static bool stream_fail(struct err *e, const char *what)
{
	if (errno == EAGAIN || errno == EWOULDBLOCK)
		return err_set(e, "%s: nothing moved for %d seconds", what, (int)SILENCE_SECONDS);
	return err_sys(e, "%s", what);
}

static int limited_socket(int family, int protocol)
{
	struct timeval limit = {SILENCE_SECONDS, 0};
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, protocol);
	if (fd >= 0) {
		setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
		setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
	}
	return fd;
}

static bool unix_connect(struct http_stream *s, const char *path, struct err *e)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	if (strlen(path) >= sizeof address.sun_path)
		return err_set(e, "gate socket \"%s\" has too long a path", path);
	strcpy(address.sun_path, path);
	s->fd = limited_socket(AF_UNIX, 0);
	if (s->fd >= 0 && connect(s->fd, (const struct sockaddr *)&address, sizeof address) == 0)
		return true;
	bool absent = errno == ENOENT || errno == ECONNREFUSED;
	err_sys(e, "could not reach the gate at \"%s\"", path);
	return absent ? err_hint(e, "%s", start_hint) : false;
}

/* "https://host[:port]" or "https://[address]:port" into its parts, malloc'ed. */
static bool url_split(const char *url, char **host, char **port, struct err *e)
{
	static const char scheme[] = "https://";
	size_t head = sizeof scheme - 1;
	*host = *port = NULL;
	if (strncmp(url, scheme, head) != 0)
		goto fail;
	const char *start = url + head, *end;
	if (*start == '[') {
		start++;
		end = start + strcspn(start, "]");
		if (!*end || end == start)
			goto fail;
		*host = xstrndup(start, (size_t)(end - start));
		end++;
	} else {
		end = start + strcspn(start, ":/");
		if (end == start)
			goto fail;
		*host = xstrndup(start, (size_t)(end - start));
	}
	size_t length = *end == ':' ? strspn(end + 1, "0123456789") : 0;
	*port = length ? xstrndup(end + 1, length) : xstrdup("6820");
	end += length ? length + 1 : 0;
	if (strcmp(end, "") == 0 || strcmp(end, "/") == 0)
		return true;
fail:
	free(*host);
	free(*port);
	return err_set(e, "gate url \"%s\" is not like https://host:6820", url);
}

static bool tcp_connect(struct http_stream *s, const char *host, const char *port, struct err *e)
{
	struct addrinfo want = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV}, *found, *a;
	int code = getaddrinfo(host, port, &want, &found);
	if (code)
		return err_set(e, "could not find host \"%s\": %s", host, gai_strerror(code));
	for (a = found; a; a = a->ai_next) {
		s->fd = limited_socket(a->ai_family, a->ai_protocol);
		if (s->fd >= 0 && connect(s->fd, a->ai_addr, a->ai_addrlen) == 0)
			break;
		err_sys(e, "could not reach the gate at %s port %s", host, port);
		if (s->fd >= 0)
			close(s->fd);
		s->fd = -1;
	}
	freeaddrinfo(found);
	int on = 1;
	if (s->fd >= 0)
		setsockopt(s->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	return s->fd >= 0;
}

static bool tls_fail(struct http_stream *s, const char *what, struct err *e)
{
	char text[256] = "";
	unsigned long code = ERR_peek_last_error();
	long verify = s->ssl ? SSL_get_verify_result(s->ssl) : X509_V_OK;
	if (verify != X509_V_OK) {
		err_set(e, "%s: %s", what, X509_verify_cert_error_string(verify));
		err_hint(e, "\"authority\" in section \"gate\" of rota.conf names the certificate authority to trust");
	} else if (code) {
		ERR_error_string_n(code, text, sizeof text);
		err_set(e, "%s: %s", what, text);
	} else
		stream_fail(e, what);
	ERR_clear_error();
	return false;
}

/* Trust the configured authority and nobody else for this host. */
static bool tls_prepare(struct http_stream *s, const char *host, const char *authority, struct err *e)
{
	s->context = SSL_CTX_new(TLS_client_method());
	if (!s->context || !SSL_CTX_set_min_proto_version(s->context, TLS1_2_VERSION))
		return tls_fail(s, "could not set up TLS", e);
	SSL_CTX_set_verify(s->context, SSL_VERIFY_PEER, NULL);
	bool trusted =
		*authority ? SSL_CTX_load_verify_file(s->context, authority) : SSL_CTX_set_default_verify_paths(s->context);
	if (!trusted)
		return tls_fail(s, "could not read the certificate authority of the gate", e);
	s->ssl = SSL_new(s->context);
	if (!s->ssl || !SSL_set_fd(s->ssl, s->fd))
		return tls_fail(s, "could not set up TLS", e);
	bool is_address = X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(s->ssl), host);
	if (!is_address && (!SSL_set1_host(s->ssl, host) || !SSL_set_tlsext_host_name(s->ssl, host)))
		return tls_fail(s, "could not set up TLS", e);
	ERR_clear_error(); /* of the attempt to read the host as an address */
	return true;
}

static bool tls_connect(struct http_stream *s, const struct conf *conf, struct err *e)
{
	char *host, *port;
	if (!url_split(conf->gate_url, &host, &port, e))
		return false;
	bool ok = tcp_connect(s, host, port, e) && tls_prepare(s, host, conf->gate_authority, e);
	if (ok && SSL_connect(s->ssl) != 1)
		ok = tls_fail(s, "TLS with the gate failed", e);
	free(host);
	free(port);
	return ok;
}

struct http_stream *http_stream_open(const struct conf *conf, struct err *e)
{
	struct http_stream *s = xcalloc(1, sizeof *s);
	s->fd = -1;
	bool ok = *conf->gate_url ? tls_connect(s, conf, e) : unix_connect(s, conf->gate_socket, e);
	if (ok)
		return s;
	http_stream_close(s);
	return NULL;
}

void http_stream_close(struct http_stream *s)
{
	if (!s)
		return;
	SSL_free(s->ssl);
	SSL_CTX_free(s->context);
	if (s->fd >= 0)
		close(s->fd);
	free(s);
}

ssize_t http_stream_read(struct http_stream *s, void *data, size_t size, struct err *e)
{
	static const char what[] = "could not read the gate's answer";
	if (s->ssl) {
		size_t got = 0;
		if (SSL_read_ex(s->ssl, data, size, &got))
			return (ssize_t)got;
		if (SSL_get_error(s->ssl, 0) == SSL_ERROR_ZERO_RETURN)
			return 0;
		tls_fail(s, what, e);
		return -1;
	}
	ssize_t n;
	do
		n = recv(s->fd, data, size, 0);
	while (n < 0 && errno == EINTR);
	if (n < 0 && errno == ECONNRESET)
		return 0;
	if (n < 0)
		stream_fail(e, what);
	return n;
}

/* OpenSSL writes without MSG_NOSIGNAL: hold SIGPIPE back and take away the one that came. */
static bool tls_write(struct http_stream *s, const void *data, size_t size)
{
	sigset_t pipe_signal, before, pending;
	const struct timespec now = {0, 0};
	size_t done;
	sigemptyset(&pipe_signal);
	sigaddset(&pipe_signal, SIGPIPE);
	sigpending(&pending);
	pthread_sigmask(SIG_BLOCK, &pipe_signal, &before);
	bool ok = SSL_write_ex(s->ssl, data, size, &done);
	int number = errno;
	if (!sigismember(&pending, SIGPIPE))
		sigtimedwait(&pipe_signal, NULL, &now);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	errno = number;
	return ok;
}

bool http_stream_write(struct http_stream *s, const void *data, size_t size, struct err *e)
{
	static const char what[] = "could not send the request to the gate";
	if (size == 0)
		return true;
	if (s->ssl)
		return tls_write(s, data, size) || tls_fail(s, what, e);
	for (size_t done = 0; done < size;) {
		ssize_t n = send(s->fd, (const char *)data + done, size - done, MSG_NOSIGNAL);
		if (n < 0 && errno != EINTR)
			return stream_fail(e, what);
		done += n > 0 ? (size_t)n : 0;
	}
	return true;
}

bool http_stream_is_stale(struct http_stream *s)
{
	struct pollfd p = {.fd = s->fd, .events = POLLIN};
	return poll(&p, 1, 0) != 0;
}
