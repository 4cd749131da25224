/* http_tls.c - TLS of the client: connects to the host of gate.url and verifies its certificate.
 *
 * Called by: http_stream.c, in programs that called http_tls_use().
 * Invariants:
 * - TLS is 1.2 or newer, and the certificate is valid for the host of gate.url.
 * - A certificate of the caller is shown only to a server that has proven its own first (TLS does that).
 * - No write raises SIGPIPE. */
#include "lib/http_tls.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "lib/http_url.h"

struct http_tls {
	SSL_CTX *context;
	SSL *ssl;
};

/* Connect to `host` by TCP. Returns the connected socket, or -1 on failure. */
static int tcp_connect(const char *host, const char *port, struct err *e)
{
	struct addrinfo want = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV}, *found, *a;
	int code = getaddrinfo(host, port, &want, &found), fd = -1, on = 1;
	if (code) {
		err_set(e, "could not find host \"%s\": %s", host, gai_strerror(code));
		return -1;
	}
	for (a = found; a; a = a->ai_next) {
		fd = http_stream_socket(a->ai_family, a->ai_protocol);
		if (fd >= 0 && http_stream_connect(fd, a->ai_addr, a->ai_addrlen))
			break;
		err_sys(e, "could not reach jobmgrd at %s port %s", host, port);
		if (fd >= 0)
			close(fd);
		fd = -1;
	}
	freeaddrinfo(found);
	if (fd >= 0)
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	return fd;
}

/* OpenSSL reports an interruption and a time limit that has passed in the same way, but leaves errno. */
bool http_tls_is_interrupted(const SSL *ssl, int result)
{
	bool was_signal = errno == EINTR;
	int error = SSL_get_error(ssl, result);
	return was_signal && (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE);
}

static bool tls_fail(struct http_tls *t, const char *what, struct err *e)
{
	char text[256] = "";
	unsigned long code = ERR_peek_last_error();
	long verify = t->ssl ? SSL_get_verify_result(t->ssl) : X509_V_OK;
	if (verify != X509_V_OK) {
		err_set(e, "%s: %s", what, X509_verify_cert_error_string(verify));
		err_hint(e, "\"authority\" in section \"gate\" of rota.conf names the certificate authority to trust");
	} else if (code) {
		ERR_error_string_n(code, text, sizeof text);
		err_set(e, "%s: %s", what, text);
	} else
		http_stream_fail(e, what);
	ERR_clear_error();
	return false;
}

/* Is the key file readable by its owner only? */
static bool key_is_private(const char *path, struct err *e)
{
	struct stat st;

	if (stat(path, &st) < 0 || access(path, R_OK) < 0)
		return err_sys(e, "could not read the key \"%s\"", path);
	if ((st.st_mode & 077) == 0)
		return true;
	err_set(e, "the key \"%s\" can be read by others", path);
	return err_hint(e, "Anybody who had read it could use your certificate. Have a new one issued, with mode 0600.");
}

static bool certificate_use(struct http_tls *t, const char *certificate, const char *key, struct err *e)
{
	if (access(certificate, F_OK) < 0 && errno == ENOENT)
		return true;
	if (access(certificate, R_OK) < 0)
		return err_sys(e, "could not read the certificate \"%s\"", certificate);
	if (!key_is_private(key, e))
		return false;
	if (SSL_CTX_use_certificate_chain_file(t->context, certificate) != 1)
		return tls_fail(t, "could not use your certificate (\"user_certificates\" in section \"gate\" of rota.conf)", e);
	return SSL_CTX_use_PrivateKey_file(t->context, key, SSL_FILETYPE_PEM) == 1 ||
	       tls_fail(t, "could not use the key of your certificate (\"user_certificates\" in section \"gate\" of rota.conf)",
			e);
}

/* Show jobmgrd the caller's certificate, if there is one. OpenSSL asks for the passphrase of a key that has one. */
static bool certificate_show(struct http_tls *t, const char *folder, struct err *e)
{
	const struct passwd *pw = *folder ? getpwuid(geteuid()) : NULL;
	char *certificate, *key;
	bool good;

	if (!pw)
		return true;
	certificate = xasprintf("%s/%s.pem", folder, pw->pw_name);
	key = xasprintf("%s/%s.key", folder, pw->pw_name);
	good = certificate_use(t, certificate, key, e);
	free(key);
	free(certificate);
	return good;
}

/* Set up TLS so that only a certificate for `host` by the certificate authority of the configuration is accepted. If that is empty,
 * those of the system are trusted. */
static bool tls_prepare(struct http_tls *t, int fd, const char *host, const struct conf *conf, struct err *e)
{
	const char *authority = conf->gate_authority;
	t->context = SSL_CTX_new(TLS_client_method());
	if (!t->context || !SSL_CTX_set_min_proto_version(t->context, TLS1_2_VERSION))
		return tls_fail(t, "could not set up TLS to reach jobmgrd", e);
	SSL_CTX_set_verify(t->context, SSL_VERIFY_PEER, NULL);
	bool trusted =
		*authority ? SSL_CTX_load_verify_file(t->context, authority) : SSL_CTX_set_default_verify_paths(t->context);
	if (!trusted)
		return tls_fail(t, "could not read the certificate authority (\"authority\" in section \"gate\" of rota.conf)",
				e);
	if (!certificate_show(t, conf->gate_user_certificates, e))
		return false;
	t->ssl = SSL_new(t->context);
	if (!t->ssl || !SSL_set_fd(t->ssl, fd))
		return tls_fail(t, "could not set up TLS to reach jobmgrd", e);
	bool is_address = X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(t->ssl), host);
	if (!is_address && (!SSL_set1_host(t->ssl, host) || !SSL_set_tlsext_host_name(t->ssl, host)))
		return tls_fail(t, "could not set up TLS to reach jobmgrd", e);
	ERR_clear_error(); /* drop the error of trying to read the host name as an IP address */
	return true;
}

/* Write to the TLS connection. OpenSSL does not use MSG_NOSIGNAL, so block SIGPIPE during the write and remove one that is
 * pending. */
static bool tls_send(SSL *ssl, const void *data, size_t size)
{
	sigset_t pipe_signal, before, pending;
	const struct timespec now = {0, 0};
	size_t done;
	sigemptyset(&pipe_signal);
	sigaddset(&pipe_signal, SIGPIPE);
	sigpending(&pending);
	pthread_sigmask(SIG_BLOCK, &pipe_signal, &before);
	bool ok = SSL_write_ex(ssl, data, size, &done);
	int number = errno;
	if (!sigismember(&pending, SIGPIPE))
		sigtimedwait(&pipe_signal, NULL, &now);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	errno = number;
	return ok;
}

static bool tls_connect(struct http_tls *t, struct err *e)
{
	int result;

	do
		result = SSL_connect(t->ssl);
	while (result != 1 && http_tls_is_interrupted(t->ssl, result));
	return result == 1 || tls_fail(t, "TLS with jobmgrd failed", e);
}

static void tls_close(struct http_tls *t)
{
	SSL_free(t->ssl);
	SSL_CTX_free(t->context);
	free(t);
}

static struct http_tls *tls_open(const struct conf *conf, int *fd, struct err *e)
{
	struct http_tls *t = xcalloc(1, sizeof *t);
	char *host, *port;
	bool ok = http_url_split(conf->gate_url, &host, &port, e);

	if (ok) {
		*fd = tcp_connect(host, port, e);
		ok = *fd >= 0 && tls_prepare(t, *fd, host, conf, e) && tls_connect(t, e);
		free(host);
		free(port);
	}
	if (ok)
		return t;
	tls_close(t);
	return NULL;
}

static ssize_t tls_read(struct http_tls *t, void *data, size_t size, struct err *e)
{
	size_t got = 0;
	bool ok;

	do
		ok = SSL_read_ex(t->ssl, data, size, &got);
	while (!ok && http_tls_is_interrupted(t->ssl, 0));
	if (ok)
		return (ssize_t)got;
	if (SSL_get_error(t->ssl, 0) == SSL_ERROR_ZERO_RETURN)
		return 0;
	tls_fail(t, HTTP_READING, e);
	return -1;
}

static bool tls_write(struct http_tls *t, const void *data, size_t size, struct err *e)
{
	bool ok;

	do
		ok = tls_send(t->ssl, data, size);
	while (!ok && http_tls_is_interrupted(t->ssl, 0));
	return ok || tls_fail(t, HTTP_WRITING, e);
}

static struct ssl_st *tls_connection(struct http_tls *t)
{
	return t->ssl;
}

void http_tls_use(void)
{
	static const struct http_tls_way way = {tls_open, tls_close, tls_read, tls_write, tls_connection};

	http_stream_tls = &way;
}
