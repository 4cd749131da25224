/* http_race.c - connects to a host with several addresses: a machine that is gone, or hangs, does not delay the connections to
 * the other addresses for long.
 *
 * Called by: http_tls.c.
 * Invariants:
 * - A connection to the next address begins when those to all earlier ones have failed, or HEAD_START_US after the last one
 *   began.
 * - An address has answered when its TLS handshake is done: the kernel of a machine accepts connections for a process that
 *   hangs.
 * - The connections that were not the first are closed without a request. */
#include "lib/http_race.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include "lib/clock.h"
#include "lib/file.h"
#include "lib/http_tls.h"

enum { HEAD_START_US = 500000, RUNNERS_MOST = 16 };

struct runner {
	const struct addrinfo *address;
	int fd;
	SSL *ssl; /* NULL: TCP is not connected yet */
	short events;
};

struct race {
	const struct http_race_way *way;
	const struct addrinfo *next; /* next address to connect to; NULL: none */
	int64_t next_at, until;	     /* clock_boot_us() at which connecting to `next` begins, and the race times out */
	struct runner runners[RUNNERS_MOST];
	int count;
};

static bool runner_unreachable(const struct runner *one, struct err *e)
{
	char host[NI_MAXHOST] = "?", port[NI_MAXSERV] = "?";
	int number = errno;
	getnameinfo(one->address->ai_addr, one->address->ai_addrlen, host, sizeof host, port, sizeof port,
		    NI_NUMERICHOST | NI_NUMERICSERV);
	errno = number;
	return err_sys(e, "could not reach jobmgrd at %s port %s", host, port);
}

static void runner_end(struct race *r, int at)
{
	struct runner *one = &r->runners[at];
	SSL_free(one->ssl);
	if (one->fd >= 0)
		close(one->fd);
	*one = r->runners[--r->count];
}

/* Begin to connect to the next address. */
static void race_add(struct race *r, struct err *e)
{
	struct runner one = {.address = r->next, .events = POLLOUT};
	one.fd = http_stream_socket(one.address->ai_family, one.address->ai_protocol);
	bool begun =
		one.fd >= 0 && file_set_blocking(one.fd, false) &&
		(connect(one.fd, one.address->ai_addr, one.address->ai_addrlen) == 0 || errno == EINPROGRESS || errno == EINTR);
	r->next = one.address->ai_next;
	r->next_at = clock_boot_us() + (begun ? HEAD_START_US : 0);
	r->runners[r->count++] = one;
	if (!begun) {
		runner_unreachable(&one, e);
		runner_end(r, r->count - 1);
	}
}

/* TCP is connected, or has failed: begin TLS, or set the error. Returns false on failure. */
static bool runner_connected(struct race *r, struct runner *one, struct err *e)
{
	int number = 0;
	socklen_t size = sizeof number;
	if (getsockopt(one->fd, SOL_SOCKET, SO_ERROR, &number, &size) < 0)
		number = errno;
	errno = number;
	if (number)
		return runner_unreachable(one, e);
	one->ssl = r->way->make(one->fd, r->way->arg, e);
	return one->ssl != NULL;
}

/* Go on with the TLS handshake of a runner, an address whose socket is ready. Sets *done if the handshake is done. Returns false
 * if it has failed. */
static bool runner_step(struct race *r, struct runner *one, bool *done, struct err *e)
{
	if (!one->ssl && !runner_connected(r, one, e))
		return false;
	int result = SSL_connect(one->ssl), why = SSL_get_error(one->ssl, result);
	*done = result == 1;
	one->events = why == SSL_ERROR_WANT_WRITE ? POLLOUT : POLLIN;
	if (*done || why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE)
		return true;
	r->way->refused(one->ssl, e);
	return false;
}

/* Wait until a socket is ready, or until it is time to try the next address, or until the race times out. */
static void race_wait(const struct race *r, struct pollfd *ready)
{
	int64_t now = clock_boot_us(),
		until = r->next && r->count < RUNNERS_MOST && r->next_at < r->until ? r->next_at : r->until;
	for (int i = 0; i < r->count; i++)
		ready[i] = (struct pollfd){.fd = r->runners[i].fd, .events = r->runners[i].events};
	if (poll(ready, (nfds_t)r->count, until > now ? (int)((until - now) / 1000 + 1) : 0) < 0)
		for (int i = 0; i < r->count; i++) /* interrupted */
			ready[i].revents = 0;
}

/* Wait once, and go on with all runners (attempted addresses). Returns the first whose handshake is done, or NULL if none is done
 * yet. */
static struct runner *race_step(struct race *r, struct err *e)
{
	struct pollfd ready[RUNNERS_MOST];
	race_wait(r, ready);
	for (int i = r->count - 1; i >= 0; i--) { /* backwards: runner_end() moves the last runner */
		bool done = false;
		if (ready[i].revents && !runner_step(r, &r->runners[i], &done, e)) {
			runner_end(r, i);
			r->next_at = 0;
		}
		if (done)
			return &r->runners[i];
	}
	return NULL;
}

SSL *http_race(const struct addrinfo *addresses, int64_t limit_us, const struct http_race_way *way, const struct addrinfo **won,
	       struct err *e)
{
	struct race r = {.way = way, .next = addresses, .until = clock_boot_us() + limit_us};
	struct runner *first = NULL;
	SSL *ssl = NULL;
	while (!first && clock_boot_us() < r.until && (r.count > 0 || r.next)) {
		if (r.next && r.count < RUNNERS_MOST && (r.count == 0 || clock_boot_us() >= r.next_at))
			race_add(&r, e);
		else
			first = race_step(&r, e);
	}
	if (first && file_set_blocking(first->fd, true)) {
		*won = first->address;
		ssl = first->ssl;
		first->ssl = NULL;
		first->fd = -1;
	} else if (r.count > 0) {
		errno = ETIMEDOUT;
		runner_unreachable(&r.runners[0], e);
	}
	while (r.count > 0)
		runner_end(&r, 0);
	return ssl;
}
