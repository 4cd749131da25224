/* gate.h - the HTTP API of jobmgrd, on a Unix socket and, if configured, over TLS. Each request calls one api function. */
#ifndef ROTA_GATE_H
#define ROTA_GATE_H

#include <event2/event.h>
#include <stdbool.h>

#include "lib/conf.h"
#include "lib/err.h"
#include "lib/seal.h"

struct gate;

/* Open the HTTP API of the jobmgrd `name`. `conf`, `name`, `key` and `sign_key` must outlive it. If another process of this
 * host serves the Unix socket, the API waits as a standby and takes over the socket when that process has ended. */
struct gate *gate_open(struct event_base *base, const struct conf *conf, const char *name, const struct seal_mac_key *key,
		       const struct seal_sign_key *sign_key, struct err *e);

/* Set whether the answer of /v1/ping says that this jobmgrd is the leader. */
void gate_set_leader(struct gate *gate, bool leader);

/* Accept no more connections, answer long polls at once, and finish requests under way; then call `done`. */
void gate_drain(struct gate *gate, void (*done)(void *arg), void *arg);

void gate_close(struct gate *gate);

#endif
