/* gate_listen.h - the sockets of the HTTP API. For gate*.c only. */
#ifndef ROTA_GATE_LISTEN_H
#define ROTA_GATE_LISTEN_H

#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/http.h>
#include <openssl/ssl.h>
#include <stdbool.h>

#include "lib/err.h"

/* Listen on the Unix socket `path`, to which every user may connect. The caller must own the lock of the path. Returns the
 * descriptor, or -1 with an error. */
int gate_listen_unix(const char *path, struct err *e);

/* Listen on the TCP socket "address:port", and log the address with the port that was bound. Returns the descriptor, or -1 with
 * an error. */
int gate_listen_tcp(const char *address, struct err *e);

/* Returns a bufferevent for a connection that is being accepted, without TLS if `tls` is NULL. */
struct bufferevent *gate_listen_new_buffer(struct event_base *base, SSL_CTX *tls);

#endif
