/* tunnel.h - TLS to a step manager on another machine. */
#ifndef ROTA_BIN_TUNNEL_H
#define ROTA_BIN_TUNNEL_H

#include <stdbool.h>

#include "lib/err.h"

struct tunnel;

/* Connect to `host` at `port`, verify that the certificate has the fingerprint (SHA-256, hex), and then send the token. Returns NULL
 * with an error. */
struct tunnel *tunnel_open(const char *host, int port, const char *fingerprint, const char *token, struct err *e);
void tunnel_close(struct tunnel *t);

/* Copy standard input to the step manager and what it sends to standard output, until the step manager or the reader of standard output
 * closes the connection. */
void tunnel_run(struct tunnel *t);

#endif
