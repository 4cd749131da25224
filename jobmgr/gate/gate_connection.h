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

/* At most `bound` connections at once: one user or address has at most a quarter of them, and fewer if gate.user_connections or
 * gate.unproven says so; all addresses together have half. The requests of one client that are under way have at most `most`
 * bytes. The caller keeps `conf`. */
struct gate_connections *gate_connections_new(struct event_base *base, const struct conf *conf, unsigned bound, size_t most);

/* Free all quotas. Call it after evhttp has freed all connections and all requests have ended. */
void gate_connections_free(struct gate_connections *connections);

/* Count a connection that evhttp is making. The connection is admitted or shut down before evhttp reads from it. */
void gate_connection_add(struct gate_connections *connections, struct bufferevent *buffer, bool is_tls);

struct gate_connection *gate_connection_find(struct gate_connections *connections, const struct bufferevent *buffer);

/* Returns the quota of the client at the other end of a connection; NULL if the connection is being shut down. */
struct gate_quota *gate_connection_quota(const struct gate_connection *connection);

/* Does the connection come over TLS? If not, gate_connection_uid() is the user at its other end, whom the kernel names. For
 * connections with a quota. */
bool gate_connection_is_remote(const struct gate_connection *connection);
uid_t gate_connection_uid(const struct gate_connection *connection);

/* Note that a request of the connection is served from now on. */
void gate_connection_serve(struct gate_connection *connection);

/* Note that a request had a valid credential of a user. Sets *user to the quota to which the request then counts, until
 * gate_quota_release, or to NULL if that is the quota of the connection. Returns false with the error RT429 if the user has too many
 * requests or connections. */
bool gate_connection_prove(struct gate_connection *connection, uid_t uid, struct gate_quota **user, struct err *e);

/* Count a connection twice, since jobmgrd makes another one for its client. Returns false with the error RT429 if there is no place. */
bool gate_connection_double(struct gate_connection *connection, struct err *e);

/* Count a connection once again. */
void gate_connection_undouble(struct gate_connection *connection);

/* The connection serves no requests any more: no bytes of it are counted, and it has no deadline. */
void gate_connection_hand_over(struct gate_connection *connection);

/* Free the connections that have ended, with their files. evhttp has taken over all connections that were added. */
void gate_connections_remove_ended(struct gate_connections *connections);

/* Must a listening socket wait until connections that it accepted and that were refused have ended, because no more files may be
 * used for them? `is_tls` names the socket. */
bool gate_connections_are_full(const struct gate_connections *connections, bool is_tls);

/* Are all answers to clients written to their sockets? */
bool gate_connections_flushed(const struct gate_connections *connections);

#endif
