/* tunnel.h - connects by TLS to a step manager on another machine. */
#ifndef ROTA_BIN_TUNNEL_H
#define ROTA_BIN_TUNNEL_H

#include <stdbool.h>

#include "lib/err.h"

struct http;
struct tunnel;

/* Address of the step manager, its certificate's fingerprint, and the token for it. */
struct tunnel_peer {
	const char *host;
	int port;
	const char *fingerprint; /* SHA-256 of the step manager's certificate, hex */
	const char *token;
};

/* Connect by TCP. The host has `seconds` to accept the connection, and the step manager then has `seconds` to answer. Returns NULL with an error. */
struct tunnel *tunnel_open(const struct tunnel_peer *peer, int seconds, struct err *e);

/* Use a stream that jobmgrd relays; http_socket() is its end. The tunnel owns the stream. Returns NULL
 * with an error. */
struct tunnel *tunnel_open_relayed(struct http *relay, struct err *e);

/* Begin TLS, verify that the certificate has the fingerprint, and then send the token. After `false`, *is_silent is true if there
 * was no answer, or none by TLS, so the token was not sent. */
bool tunnel_begin(struct tunnel *t, const struct tunnel_peer *peer, bool *is_silent, struct err *e);

/* Close the connection and free `t`, which may be NULL. */
void tunnel_close(struct tunnel *t);

/* Copy standard input to the step manager, and bytes from the step manager to standard output, until the step manager or the
 * reader of standard output closes the connection. */
void tunnel_run(struct tunnel *t);

#endif
