/* gate_quota.h - the quota of each client: how much it uses, and how much it may use. For gate*.c only. */
#ifndef ROTA_GATE_QUOTA_H
#define ROTA_GATE_QUOTA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>

#include "lib/conf.h"
#include "lib/err.h"

enum {
	GATE_QUOTA_NAME = 64,
	GATE_QUOTAS = 4, /* bytes that all requests under way may have together, in full quotas of one client */
	GATE_QUOTA_SMALL =
		1024 * 1024, /* requests of at most this many bytes are accepted whatever other clients have under way */
};

struct gate_quotas;

/* Connections, requests and bytes that one client uses. A client is a user of this host (Unix socket), an address (TLS), or a
 * user by TLS, whose connections count to their addresses as well. gate_connection.c counts connections and unanswered bytes. */
struct gate_quota {
	struct gate_quotas *all;
	char name[GATE_QUOTA_NAME]; /* name of the client: "uid 1000", "10.0.0.7", "uid 1000 by HTTPS" */
	bool is_remote;
	uid_t uid; /* user of the client; -1: the client is an address, or its user is unknown */
	/* the client's open connections, those of them without a valid credential, its requests and its database queries under
	 * way */
	unsigned connections, unproven, requests, queries;
	/* bytes read since the last answer to the client; bytes of its requests under way */
	size_t unanswered, request_bytes;
	int64_t known_until; /* the client has sent a valid credential, and counts as known until this time, by clock_ms() */
	TAILQ_ENTRY(gate_quota) link;
};

/* Make the set of the quotas of all clients. The server has at most `bound` connections. The requests of one client that are
 * under way have at most `most` bytes. `conf` must outlive the set. */
struct gate_quotas *gate_quotas_new(const struct conf *conf, unsigned bound, size_t most);
void gate_quotas_free(struct gate_quotas *all);

/* Free the quotas of clients that are not known any more. Must be called regularly. */
void gate_quotas_sweep(struct gate_quotas *all);

/* Returns the quota of the client at the other end of a connection: a user of this host or an address. */
struct gate_quota *gate_quota_find_peer(struct gate_quotas *all, int fd);

/* Returns the quota of a user by TLS. */
struct gate_quota *gate_quota_find_remote_user(struct gate_quotas *all, uid_t uid);

/* Free a quota if it counts no connection and no request, and its client is not known. */
void gate_quota_drop_unused(struct gate_quota *quota);

/* Record that the client has sent a valid credential: it is known for an hour. */
void gate_quota_set_known(struct gate_quota *quota);

/* Returns how many connections a client may have, and also how many requests under way. */
unsigned gate_quota_bound(const struct gate_quota *quota);

/* Returns how many connections without a valid credential a client may have. */
unsigned gate_quota_unproven_bound(const struct gate_quota *quota);

/* Returns the number of connections of all clients from which on this client gets no more connections. */
unsigned gate_quota_total_bound(const struct gate_quota *quota);

/* Returns the client with the most connections, apart from root; with `remote`, only among addresses. NULL: none has at least
 * two more than `quota`. */
struct gate_quota *gate_quota_find_largest(const struct gate_quota *quota, bool remote);

/* Count a request of `size` bytes to a quota, until gate_quota_release(). Returns false with the error RT429 if the quota is
 * used up. */
bool gate_quota_take(struct gate_quota *quota, size_t size, struct err *e);
void gate_quota_release(struct gate_quota *quota, size_t size);

/* Set the error RT429: the quota of the client is used up. Returns false. */
bool gate_quota_refuse(struct err *e);

#endif
