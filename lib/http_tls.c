/* http_tls.c - TLS of the client: connects to the host of gate.url and verifies its certificate.
 *
 * Called by: http_stream.c, in programs that called http_tls_use().
 * Invariants:
 * - TLS is 1.2 or newer, and the certificate is valid for the host of gate.url.
 * - If the host has several machines, and the jobmgrd of one sends nothing for a pause, a second TLS handshake with it is
 *   tried. If two in a row fail, that jobmgrd hangs or is gone, and the request fails. If the handshake succeeds, the
 *   connection stays, and the pause doubles.
 * - A certificate of the caller is shown only to a server that has proven its own first (TLS does that).
 * - No write raises SIGPIPE. */
#include "lib/http_tls.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
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

#include "lib/clock.h"
#include "lib/http_race.h"
#include "lib/http_url.h"

/* Least and most pause between handshakes that check whether jobmgrd is alive, and the time limit of one: a busy jobmgrd
 * answers late. */
enum { PAUSE_LEAST_S = 5, PAUSE_MOST_S = 60, ALIVE_SECONDS = 15 };

struct http_tls {
	SSL_CTX *context;
	SSL *ssl;
	char *host;
	struct addrinfo *addresses;
	const struct addrinfo *address; /* address of the open connection; NULL: none is open */
	int pause_s;			/* seconds for which the server may be silent before a handshake with it is tried */
	bool is_suspect;		/* the server did not answer the last such handshake, and has sent nothing since */
};

/* OpenSSL reports an interruption and a time limit that has passed in the same way, but leaves errno. */
bool http_tls_is_interrupted(const SSL *ssl, int result)
{
	bool was_signal = errno == EINTR;
	int error = SSL_get_error(ssl, result);
	return was_signal && (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE);
}

static bool ssl_fail(const SSL *ssl, const char *what, struct err *e)
{
	char text[256] = "";
	unsigned long code = ERR_peek_last_error();
	long verify = ssl ? SSL_get_verify_result(ssl) : X509_V_OK;
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

static bool tls_fail(const struct http_tls *t, const char *what, struct err *e)
{
	return ssl_fail(t->ssl, what, e);
}

/* Returns true if only the owner of the key file can read it. */
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

/* Set the user's certificate, if `folder` has one, for jobmgrd to ask for. OpenSSL asks the user for the passphrase of an
 * encrypted key. */
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

/* Set up TLS so that only a certificate by the certificate authority of the configuration is accepted. If gate.authority is
 * empty, the certificate authorities of the system are trusted. */
static bool tls_prepare(struct http_tls *t, const struct conf *conf, struct err *e)
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
	return certificate_show(t, conf->gate_user_certificates, e);
}

/* Make a TLS connection on a socket so that only a certificate for the host of gate.url is accepted. */
static SSL *ssl_make(int fd, void *arg, struct err *e)
{
	const struct http_tls *t = arg;
	int on = 1;
	SSL *ssl = SSL_new(t->context);
	bool is_address = ssl && X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), t->host);
	bool ok = ssl && SSL_set_fd(ssl, fd) &&
		  (is_address || (SSL_set1_host(ssl, t->host) && SSL_set_tlsext_host_name(ssl, t->host)));
	if (ok) {
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
		ERR_clear_error(); /* drop the error of trying to read the host name as an IP address */
		return ssl;
	}
	ssl_fail(ssl, "could not set up TLS to reach jobmgrd", e);
	SSL_free(ssl);
	return NULL;
}

static void ssl_refused(SSL *ssl, struct err *e)
{
	ssl_fail(ssl, "TLS with jobmgrd failed", e);
}

/* Write to the TLS connection. OpenSSL does not use MSG_NOSIGNAL, so block SIGPIPE during the write and remove a SIGPIPE that is
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

/* Returns true if the host has an address of another machine. An IPv6 address is taken for the same machine as an IPv4 address,
 * and the other way round. */
static bool has_others(const struct http_tls *t)
{
	const struct addrinfo *one = t->addresses, *own = t->address;
	while (one && (one->ai_family != own->ai_family || memcmp(one->ai_addr, own->ai_addr, own->ai_addrlen) == 0))
		one = one->ai_next;
	return one != NULL;
}

static void tls_set_pause(struct http_tls *t, int seconds)
{
	struct timeval limit = {seconds, 0};
	t->pause_s = seconds;
	setsockopt(SSL_get_fd(t->ssl), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
}

static bool tls_find(struct http_tls *t, const char *port, struct err *e)
{
	struct addrinfo want = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
	int code = getaddrinfo(t->host, port, &want, &t->addresses);
	return code == 0 || err_set(e, "could not find host \"%s\": %s", t->host, gai_strerror(code));
}

static bool tls_connect(struct http_tls *t, int *fd, struct err *e)
{
	const struct http_race_way way = {ssl_make, ssl_refused, t};
	t->ssl = http_race(t->addresses, HTTP_SILENCE_SECONDS * INT64_C(1000000), &way, &t->address, e);
	if (!t->ssl)
		return false;
	*fd = SSL_get_fd(t->ssl);
	if (has_others(t))
		tls_set_pause(t, PAUSE_LEAST_S);
	return true;
}

/* Returns true if the machine of a silent connection answers a second TLS handshake, on another connection. */
static bool tls_is_alive(struct http_tls *t)
{
	const struct http_race_way way = {ssl_make, ssl_refused, t};
	struct addrinfo alone = *t->address;
	const struct addrinfo *won;
	struct err e = {0};
	alone.ai_next = NULL;
	SSL *ssl = http_race(&alone, ALIVE_SECONDS * INT64_C(1000000), &way, &won, &e);
	if (ssl)
		close(SSL_get_fd(ssl));
	SSL_free(ssl);
	return ssl != NULL;
}

/* Try a second handshake with the machine of a silent connection. Returns false if this and the last one failed, and the silent
 * connection has received nothing meanwhile. */
static bool tls_may_answer(struct http_tls *t)
{
	struct pollfd sent = {.fd = SSL_get_fd(t->ssl), .events = POLLIN};
	bool was_suspect = t->is_suspect;
	t->is_suspect = !tls_is_alive(t);
	if (t->is_suspect)
		tls_set_pause(t, PAUSE_LEAST_S);
	else
		tls_set_pause(t, t->pause_s < PAUSE_MOST_S / 2 ? 2 * t->pause_s : PAUSE_MOST_S);
	return !t->is_suspect || !was_suspect || poll(&sent, 1, 0) > 0;
}

static void tls_close(struct http_tls *t)
{
	if (t->addresses)
		freeaddrinfo(t->addresses);
	free(t->host);
	SSL_free(t->ssl);
	SSL_CTX_free(t->context);
	free(t);
}

static struct http_tls *tls_open(const struct conf *conf, int *fd, struct err *e)
{
	struct http_tls *t = xcalloc(1, sizeof *t);
	char *port = NULL;
	bool ok = http_url_split(conf->gate_url, &t->host, &port, e) && tls_find(t, port, e) && tls_prepare(t, conf, e) &&
		  tls_connect(t, fd, e);

	free(port);
	if (ok)
		return t;
	tls_close(t);
	return NULL;
}

/* A read has received nothing since `since`, and the time limit of the socket has passed. Returns true if the read goes on
 * waiting. */
static bool tls_waits_on(struct http_tls *t, int64_t since)
{
	bool is_late = errno == EAGAIN || errno == EWOULDBLOCK;
	return is_late && SSL_get_error(t->ssl, 0) == SSL_ERROR_WANT_READ && has_others(t) &&
	       clock_boot_us() - since < HTTP_SILENCE_SECONDS * INT64_C(1000000) && tls_may_answer(t);
}

static ssize_t tls_read(struct http_tls *t, void *data, size_t size, struct err *e)
{
	int64_t since = clock_boot_us();
	size_t got = 0;
	bool ok;

	do
		ok = SSL_read_ex(t->ssl, data, size, &got);
	while (!ok && (http_tls_is_interrupted(t->ssl, 0) || tls_waits_on(t, since)));
	if (ok) {
		t->is_suspect = false;
		return (ssize_t)got;
	}
	int error = SSL_get_error(t->ssl, 0);
	if (error == SSL_ERROR_ZERO_RETURN)
		return 0;
	if (error == SSL_ERROR_WANT_READ)
		err_set(e, "%s: no data within %lld seconds", HTTP_READING, (long long)(clock_boot_us() - since) / 1000000);
	else
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
