/* gate_connection.h - connections of clients, and the quota of each client: connections, requests, bytes. For gate*.c only. */
#ifndef ROTA_GATE_CONNECTION_H
#define ROTA_GATE_CONNECTION_H

#include <event2/bufferevent.h>
#include <event2/event.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "jobmgr/gate/gate_quota.h"
#include "lib/conf.h"
#include "lib/err.h"

struct gate_connections;
struct gate_connection; /* one connection; valid while evhttp has it */

/* Make the set of connections. There are at most `bound` connections at once: one user or address has at most a quarter of
 * them, and fewer if gate.user_connections or gate.unproven says so; all addresses together have half. The requests of one
 * client that are under way have at most `most` bytes. `conf` must outlive it. */
struct gate_connections *gate_connections_new(struct event_base *base, const struct conf *conf, unsigned bound, size_t most);

/* Free the set with all quotas. Called after evhttp has freed all connections and all requests have ended. */
void gate_connections_free(struct gate_connections *connections);

/* Add a connection that evhttp is making. It is admitted or shut down before evhttp reads from it. */
void gate_connection_add(struct gate_connections *connections, struct bufferevent *buffer, bool is_tls);

struct gate_connection *gate_connection_find(struct gate_connections *connections, const struct bufferevent *buffer);

/* Returns the quota of the client at the other end of a connection; NULL if the connection is being shut down. */
struct gate_quota *gate_connection_quota(const struct gate_connection *connection);

/* Does the connection come by TLS? If not, gate_connection_uid() returns the user at its other end, as the kernel reports it.
 * Only for connections with a quota. */
bool gate_connection_is_remote(const struct gate_connection *connection);
uid_t gate_connection_uid(const struct gate_connection *connection);

/* Record that a request of the connection is being served: until its answer, the client has no deadline. */
void gate_connection_serve(struct gate_connection *connection);

/* Record that a request of the connection had a valid credential of a user. Sets *user to the quota of the user to which the
 * request counts until gate_quota_release(), or to NULL if that is the quota of the connection. Returns false with the error
 * RT429 if the user has too many requests or connections. */
bool gate_connection_prove(struct gate_connection *connection, uid_t uid, struct gate_quota **user, struct err *e);

/* Count a connection as two, since jobmgrd opens a connection to a step manager for its client. Returns false with the error
 * RT429 if there is no place. */
bool gate_connection_double(struct gate_connection *connection, struct err *e);

/* Count a connection as one again. */
void gate_connection_undouble(struct gate_connection *connection);

/* Record that the connection is a relayed stream from now on: its bytes are not counted, and it has no deadline. */
void gate_connection_hand_over(struct gate_connection *connection);

/* Free the connections that have ended, with their files. Called when evhttp has taken over all connections that were added. */
void gate_connections_remove_ended(struct gate_connections *connections);

/* Must the TLS socket (`is_tls`) or the Unix socket stop accepting? It must while too many connections that it accepted and
 * that were refused are still open. */
bool gate_connections_are_full(const struct gate_connections *connections, bool is_tls);

/* Are all answers to clients written to their sockets? */
bool gate_connections_flushed(const struct gate_connections *connections);

#endif
