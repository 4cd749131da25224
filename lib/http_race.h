/* http_race.h - connects by TLS to one of the addresses of a host: the first one that answers. */
#ifndef ROTA_HTTP_RACE_H
#define ROTA_HTTP_RACE_H

#include <netdb.h>
#include <stdint.h>

#include <openssl/ssl.h>

#include "lib/err.h"

/* Callbacks of a race. `make` returns a TLS connection on a socket, NULL on failure. `refused` sets the error of a connection
 * whose handshake has failed. */
struct http_race_way {
	SSL *(*make)(int fd, void *arg, struct err *e);
	void (*refused)(SSL *ssl, struct err *e);
	void *arg;
};

/* Connect to one of `addresses` within `limit_us`. Returns the connection, and sets *won to its address; the caller closes the
 * socket, which is in blocking mode. Returns NULL with the error of the address that failed last. */
SSL *http_race(const struct addrinfo *addresses, int64_t limit_us, const struct http_race_way *way, const struct addrinfo **won,
	       struct err *e);

#endif
