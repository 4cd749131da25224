/* gate_relay.h - streams between clients and step managers, for clients that cannot reach the nodes. For gate*.c only. */
#ifndef ROTA_GATE_RELAY_H
#define ROTA_GATE_RELAY_H

#include "jobmgr/gate/gate_call.h"

struct gate_relays;

/* Returns NULL with an error if the configuration is malformed. The caller keeps `server`. */
struct gate_relays *gate_relays_new(struct gate_server *server, struct err *e);

/* End all streams. */
void gate_relays_end(struct gate_relays *all);

/* Call this at the end of jobmgrd, after all requests have ended. */
void gate_relays_free(struct gate_relays *all);

/* Carry out a request whose route has GATE_RELAY: {"job_id": 812, "step_id": 0, "attempt": 1}, with the header "Upgrade: rota-step".
 * After the answer 101, the connection is a stream to the step manager. Nothing on it is read or changed: it is TLS between the client
 * and the step manager, which asks for the client's token. */
void gate_relay(struct gate_call *c);

#endif
