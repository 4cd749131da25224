/* gate.h - the door of Rota: HTTP on a Unix socket and, when configured, over TLS; one api function a request. */
#ifndef ROTA_GATE_H
#define ROTA_GATE_H

#include <event2/event.h>
#include <stdbool.h>

#include "lib/conf.h"
#include "lib/err.h"
#include "lib/seal.h"

struct gate;

/* Open the gate; `conf` and `key` are the caller's and outlive it. Where another process of this host serves the same socket,
 * the gate stands by and takes it over as soon as that one is gone. */
struct gate *gate_open(struct event_base *base, const struct conf *conf, const struct seal_mac_key *key, struct err *e);

/* Whether this process leads: what /v1/ping tells. */
void gate_set_leader(struct gate *gate, bool leader);

/* Accept nothing more, answer what waits, finish what is under way; `done` is called when nothing is left. */
void gate_drain(struct gate *gate, void (*done)(void *arg), void *arg);

void gate_close(struct gate *gate);

#endif
