/* gate_listen.h - the sockets on which the gate is reached. For the files of the gate only. */
#ifndef ROTA_GATE_LISTEN_H
#define ROTA_GATE_LISTEN_H

#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/http.h>
#include <openssl/ssl.h>
#include <stdbool.h>

#include "lib/conf.h"
#include "lib/err.h"

/* Bind PATH as a Unix socket that everybody may connect to; the caller holds the lock that makes it ours. -1 on failure. */
int gate_listen_unix(const char *path, struct err *e);

/* Bind "address:port"; on success the address with the real port is in the log. -1 on failure. */
int gate_listen_tcp(const char *address, struct err *e);

/* The TLS side of the gate, from gate.certificate and gate.private_key. */
SSL_CTX *gate_tls_new(const struct conf *conf, struct err *e);

/* A buffered, not yet accepted connection; tls NULL: plain. */
struct bufferevent *gate_tls_buffer(struct event_base *base, SSL_CTX *tls);

#endif
