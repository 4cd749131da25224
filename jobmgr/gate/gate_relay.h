/* gate_relay.h - streams between clients and step managers, for clients that cannot reach the nodes. For gate*.c only. */
#ifndef ROTA_GATE_RELAY_H
#define ROTA_GATE_RELAY_H

#include "jobmgr/gate/gate_call.h"

struct gate_relays;

/* Make the set of relayed streams. Returns NULL with an error if the configuration is malformed. `server` must outlive it. */
struct gate_relays *gate_relays_new(struct gate_server *server, struct err *e);

/* End all relayed streams. */
void gate_relays_end(struct gate_relays *all);

/* Free the set. Called at the exit of jobmgrd, after all requests have ended. */
void gate_relays_free(struct gate_relays *all);

/* Carry out a request whose route has GATE_RELAY: {"job_id": 812, "step_id": 0, "attempt": 1}, with the header "Upgrade:
 * rota-step". After the answer 101, the connection is a stream to the step manager. jobmgrd cannot read or change it: it is TLS
 * between the client and the step manager, which requests the client's token. */
void gate_relay(struct gate_call *c);

#endif
