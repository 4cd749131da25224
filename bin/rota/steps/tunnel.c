/* tunnel.c - connects by TLS to a step manager on another machine, directly or through jobmgrd (tunnel.h).
 *
 * Called by: verb/tunnel.c.
 * Invariants:
 * - The token is sent only to the server that has proven the certificate of the fingerprint.
 * - At most SIZE bytes wait in memory in each direction: while one side takes no bytes, none are read from the other side.
 * - When the reader of standard output has gone, the connection ends within LEAVE_MS, so that the step manager learns of it. */
#include "bin/rota/steps/tunnel.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "lib/clock.h"
#include "lib/file.h"
#include "lib/http.h"
#include "lib/http_tls.h"
#include "lib/seal.h"

enum { SIZE = 64 << 10, ANSWER_S = 10, LEAVE_MS = 5000, PIPE_SAFE = 4096 };

struct buffer {
	char bytes[SIZE];
	size_t from, to; /* bytes [from, to) are not passed on yet */
};

struct tunnel {
	SSL_CTX *context;
	SSL *ssl;
	int fd;
	/* connection to jobmgrd, which relays the stream; NULL: the stream goes directly to the step manager */
	struct http *relay;
	SSL *outer;		/* TLS with jobmgrd, inside which the TLS with the step manager runs; NULL: there is none */
	struct buffer up, down; /* up: bytes to the step manager; down: bytes to standard output */
	bool in_ended;		/* standard input has ended */
	bool out_gone;		/* nobody reads standard output any more */
	bool ended;		/* the step manager has closed the connection */
	int64_t leave_at;	/* clock_ms() at which the connection is closed after out_gone */
};

static bool is_empty(const struct buffer *b)
{
	return b->from == b->to;
}

/* Let reads and writes of a socket fail that make no progress for `seconds`. */
static bool set_time_limit(int fd, int seconds)
{
	const struct timeval most = {.tv_sec = seconds};

	return setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof(most)) == 0 &&
	       setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof(most)) == 0;
}

/* Connect by TCP. Returns the socket, or -1. */
static int tcp_connect(const struct tunnel_peer *peer, int seconds, struct err *e)
{
	struct addrinfo want = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV}, *found, *a;
	char service[16];
	int fd = -1, on = 1;

	snprintf(service, sizeof(service), "%d", peer->port);
	int code = getaddrinfo(peer->host, service, &want, &found);
	if (code) {
		err_set(e, "could not find host \"%s\": %s", peer->host, gai_strerror(code));
		return -1;
	}
	for (a = found; a && fd < 0; a = a->ai_next) {
		fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC, a->ai_protocol);
		if (fd >= 0 && set_time_limit(fd, seconds) && http_stream_connect(fd, a->ai_addr, a->ai_addrlen))
			break;
		err_sys(e, "could not reach the step manager at %s port %d", peer->host, peer->port);
		err_hint(e, "A firewall may be in the way: docs/administering.md, \"Ports\".");
		if (fd >= 0)
			close(fd);
		fd = -1;
	}
	freeaddrinfo(found);
	if (fd >= 0)
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	return fd;
}

/* Returns true if the server's certificate has this fingerprint. */
static bool is_server(const struct tunnel *t, const char *fingerprint)
{
	X509 *certificate = SSL_get1_peer_certificate(t->ssl);
	unsigned char digest[SEAL_HASH_SIZE];
	char hex[SEAL_HEX_SIZE] = "";
	unsigned size = sizeof(digest);

	if (certificate && X509_digest(certificate, EVP_sha256(), digest, &size))
		seal_hex(digest, sizeof(digest), hex);
	X509_free(certificate);
	return strcmp(hex, fingerprint) == 0;
}

/* Let TLS use the socket, or the connection to jobmgrd if that has TLS of its own. */
static bool tls_prepare(struct tunnel *t)
{
	BIO *through;

	t->context = SSL_CTX_new(TLS_client_method());
	if (!t->context || SSL_CTX_set_min_proto_version(t->context, TLS1_3_VERSION) != 1)
		return false;
	/* Accept any signer of the step manager's certificate: jobmgrd has sent the certificate's fingerprint. */
	SSL_CTX_set_verify(t->context, SSL_VERIFY_NONE, NULL);
	t->ssl = SSL_new(t->context);
	if (!t->ssl || !t->outer)
		return t->ssl && SSL_set_fd(t->ssl, t->fd) == 1;
	through = BIO_new(BIO_f_ssl());
	if (!through || BIO_set_ssl(through, t->outer, BIO_NOCLOSE) != 1)
		return false;
	SSL_set_mode(t->outer, SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
	SSL_set_bio(t->ssl, through, through);
	return true;
}

static bool tls_connect(struct tunnel *t, const char *fingerprint, bool *is_silent, struct err *e)
{
	int result;

	*is_silent = false;
	if (!tls_prepare(t))
		return err_set(e, "could not prepare TLS");
	do
		result = SSL_connect(t->ssl);
	while (result != 1 && http_tls_is_interrupted(t->ssl, result));
	*is_silent = result != 1;
	if (*is_silent)
		return err_set(e, "TLS with the step manager failed");
	if (!is_server(t, fingerprint)) {
		err_set(e, "another program than the step manager answers: its certificate is not the expected one");
		return err_hint(e, "If the step manager was just started again, try again. If not, tell your administrators.");
	}
	return true;
}

struct tunnel *tunnel_open(const struct tunnel_peer *peer, int seconds, struct err *e)
{
	int fd = tcp_connect(peer, seconds, e);
	struct tunnel *t = fd < 0 ? NULL : xcalloc(1, sizeof(*t));

	if (t)
		t->fd = fd;
	return t;
}

struct tunnel *tunnel_open_relayed(struct http *relay, struct err *e)
{
	struct tunnel *t = xcalloc(1, sizeof(*t));

	t->relay = relay;
	t->fd = http_socket(relay, &t->outer);
	if (set_time_limit(t->fd, ANSWER_S))
		return t;
	err_sys(e, "could not set up the connection");
	tunnel_close(t);
	return NULL;
}

bool tunnel_begin(struct tunnel *t, const struct tunnel_peer *peer, bool *is_silent, struct err *e)
{
	char *line = xasprintf("%s\n", peer->token);
	bool good;
	int result;

	signal(SIGPIPE, SIG_IGN);
	good = tls_connect(t, peer->fingerprint, is_silent, e);
	if (good) {
		do
			result = SSL_write(t->ssl, line, (int)strlen(line));
		while (result <= 0 && http_tls_is_interrupted(t->ssl, result));
		good = result > 0 || err_set(e, "the step manager has closed the connection");
	}
	if (good && !file_set_blocking(t->fd, false))
		good = err_sys(e, "could not set up the connection");
	free(line);
	if (good)
		SSL_set_mode(t->ssl, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
	return good;
}

void tunnel_close(struct tunnel *t)
{
	if (!t)
		return;
	SSL_free(t->ssl);
	SSL_CTX_free(t->context);
	if (t->relay)
		http_close(t->relay);
	else
		close(t->fd);
	free(t);
}

/* Set t->ended if `result` of OpenSSL means that the connection has ended, and not that it waits for the socket. */
static void check_result(struct tunnel *t, int result)
{
	int error = SSL_get_error(t->ssl, result);

	t->ended |= error != SSL_ERROR_WANT_READ && error != SSL_ERROR_WANT_WRITE;
	ERR_clear_error();
}

/* Send to and receive from the step manager as many bytes as possible without waiting. Returns true if any byte was moved. */
static bool tunnel_exchange(struct tunnel *t)
{
	size_t size;
	bool moved = false;

	if (t->out_gone)
		t->down.from = t->down.to = 0;
	if (is_empty(&t->down)) {
		int result = SSL_read_ex(t->ssl, t->down.bytes, SIZE, &size);
		t->down.from = 0;
		t->down.to = result ? size : 0;
		moved = result;
		if (!result)
			check_result(t, result);
	}
	if (!is_empty(&t->up)) {
		int result = SSL_write_ex(t->ssl, t->up.bytes + t->up.from, t->up.to - t->up.from, &size);
		t->up.from += result ? size : 0;
		moved |= result;
		if (!result)
			check_result(t, result);
	}
	return moved;
}

/* Read standard input, which has bytes or has ended. */
static void take_input(struct tunnel *t)
{
	ssize_t size = read(STDIN_FILENO, t->up.bytes, SIZE);

	t->in_ended |= size == 0 || (size < 0 && errno != EINTR && errno != EAGAIN);
	t->up.from = 0;
	t->up.to = size > 0 ? (size_t)size : 0;
}

/* Write to standard output, which takes bytes. The write must not wait, since the user's keys would wait too. */
static void give_output(struct tunnel *t)
{
	const char *bytes = t->down.bytes + t->down.from;
	size_t size = t->down.to - t->down.from;
	ssize_t done = send(STDOUT_FILENO, bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL);

	if (done < 0 && errno == ENOTSOCK)
		done = write(STDOUT_FILENO, bytes, size < PIPE_SAFE ? size : PIPE_SAFE);
	if (done > 0)
		t->down.from += (size_t)done;
	else if (done < 0 && errno != EAGAIN && errno != EINTR)
		t->out_gone = true;
}

/* Wait until a side is ready, and serve standard input and output. `moved`: do not wait, since there may be more. */
static void serve_files(struct tunnel *t, bool moved)
{
	struct pollfd sides[] = {
		{.fd = is_empty(&t->up) && !t->in_ended ? STDIN_FILENO : -1, .events = POLLIN},
		{.fd = t->out_gone ? -1 : STDOUT_FILENO, .events = (short)(is_empty(&t->down) ? 0 : POLLOUT)},
		{.fd = t->fd, .events = (short)((is_empty(&t->down) ? POLLIN : 0) | (is_empty(&t->up) ? 0 : POLLOUT))},
	};

	if (!sides[2].events)
		sides[2].fd = -1;
	if (poll(sides, 3, moved ? 0 : t->out_gone ? 100 : -1) < 0)
		return;
	if (sides[0].revents)
		take_input(t);
	else if (t->out_gone && sides[0].fd >= 0 && !moved)
		t->in_ended = true; /* nobody reads the output, and no input came while it was waited for: no more is expected */
	if (sides[1].revents & POLLOUT)
		give_output(t);
	t->out_gone |= (sides[1].revents & (POLLERR | POLLHUP)) != 0;
}

void tunnel_run(struct tunnel *t)
{
	while (!t->ended && !(t->out_gone && t->in_ended && is_empty(&t->up))) {
		bool moved = tunnel_exchange(t);

		if (t->ended)
			break;
		serve_files(t, moved);
		if (t->out_gone && !t->leave_at)
			t->leave_at = clock_ms() + LEAVE_MS;
		if (t->leave_at && clock_ms() > t->leave_at)
			break;
	}
	if (!t->ended)
		SSL_shutdown(t->ssl);
}
