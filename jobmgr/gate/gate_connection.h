/* gate_connection.h - connections of clients, and the quota of each client: connections, requests, bytes. For gate*.c only. */
#ifndef ROTA_GATE_CONNECTION_H
#define ROTA_GATE_CONNECTION_H

#include <event2/bufferevent.h>
#include <event2/event.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "lib/err.h"

struct gate_connections;
struct gate_connection; /* one connection; valid while evhttp has it */

/* Connections, requests and bytes that one client uses. A client is a user of this host (Unix socket) or an address (TLS). */
struct gate_quota;

/* At most `bound` connections at once: one user has at most half of them, all addresses together half, one address a quarter.
 * The requests of one client that are under way have at most `most` bytes. */
struct gate_connections *gate_connections_new(struct event_base *base, unsigned bound, size_t most);

/* Free all quotas. Call it after evhttp has freed all connections and all requests have ended. */
void gate_connections_free(struct gate_connections *connections);

/* Count a connection that evhttp is making. The connection is admitted or shut down before evhttp reads from it. */
void gate_connection_add(struct gate_connections *connections, struct bufferevent *buffer);

struct gate_connection *gate_connection_find(struct gate_connections *connections, const struct bufferevent *buffer);

/* Does the connection come over TLS? If not, gate_connection_uid() is the user at its other end, whom the kernel names. For
 * connections with a quota. */
bool gate_connection_is_remote(const struct gate_connection *connection);
uid_t gate_connection_uid(const struct gate_connection *connection);

/* Count a request of `size` bytes to the quota of its connection, until gate_quota_release. Returns NULL with the error RT429 if
 * the quota is used up. */
struct gate_quota *gate_quota_take(struct gate_connection *connection, size_t size, struct err *e);
void gate_quota_release(struct gate_quota *quota, size_t size);

/* Returns the counter of the client's database queries under way. gate_session.c counts. */
unsigned *gate_quota_queries(struct gate_quota *quota);

/* Are all answers to clients written to their sockets? */
bool gate_connections_flushed(const struct gate_connections *connections);

#endif
