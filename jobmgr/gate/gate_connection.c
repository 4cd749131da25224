/* gate_connection.c - connections of clients and the quota of each client, so that no client locks the others out.
 *
 * Called by: gate.c for each connection; gate_dispatch.c and gate_call.c for each request.
 * Invariants:
 * - From its first byte on, a connection counts to the quota of a user (Unix socket) or of an address (TLS).
 * - A connection beyond the bounds is shut down in the same iteration of the loop, and so is a connection whose client has too
 *   many unanswered bytes.
 * - A request counts until it has ended, even if its client hangs up.
 * - All clients together may have QUOTAS times the bytes of one client; small requests are always accepted.
 * - evhttp does not report the end of a connection, but removes its callbacks from the buffer. The sweep frees such buffers. */
#include "jobmgr/gate/gate_connection.h"

#include <arpa/inet.h>
#include <event2/buffer.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>

#include "jobmgr/gate/gate_answer.h"
#include "lib/log.h"

enum {
	CONNECTION_SWEEP = 1,	   /* seconds between sweeps of ended connections */
	QUOTAS = 4,		   /* bytes of requests that all clients together may have under way, in quotas of one client */
	QUOTA_SMALL = 1024 * 1024, /* requests of at most this many bytes are accepted whatever other clients have under way */
	QUOTA_NAME = 64
};

struct gate_quota {
	struct gate_connections *all;
	char name[QUOTA_NAME]; /* name of the client: "uid 1000", "10.0.0.7" */
	bool is_remote;
	uid_t uid; /* user of the client; -1: it is an address, or unknown */
	/* the client's open connections, its requests under way, its database queries under way */
	unsigned connections, requests, queries;
	/* bytes read since the last answer to the client; bytes of its requests under way */
	size_t unanswered, request_bytes;
	TAILQ_ENTRY(gate_quota) link;
};

struct gate_connection {
	struct gate_connections *all;
	struct bufferevent *buffer;
	struct gate_quota *quota; /* quota of the client; NULL: nothing was read from the connection yet, or it was refused */
	size_t unanswered;
	bool refused;
	TAILQ_ENTRY(gate_connection) link;
};

struct gate_connections {
	TAILQ_HEAD(, gate_connection) list;
	TAILQ_HEAD(, gate_quota) quotas;
	unsigned count, remote, bound; /* number of admitted connections; of admitted TLS connections; limit of connections */
	unsigned refused;	       /* number of connections refused since the last log line about refusals */
	size_t most, unanswered, request_bytes;
	struct event *sweep;
};

/* Quotas of clients. */

/* Set `name` to the name of the client at the other end of a connection, and `uid` to the user of this host, or -1. Returns true
 * for an address. An IPv6 network of /64 is one client, because providers give each customer at least a /64. */
static bool quota_read_name(int fd, char name[QUOTA_NAME], uid_t *uid)
{
	struct sockaddr_storage address = {0};
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&address;
	const struct sockaddr_in *in = (const struct sockaddr_in *)&address;
	struct ucred who = {.uid = (uid_t)-1};
	socklen_t size = sizeof who, length = sizeof address;

	*uid = (uid_t)-1;
	if (getpeername(fd, (struct sockaddr *)&address, &length) == 0 && address.ss_family == AF_INET6) {
		if (!IN6_IS_ADDR_V4MAPPED(&in6->sin6_addr))
			memset(in6->sin6_addr.s6_addr + 8, 0, 8);
		inet_ntop(AF_INET6, &in6->sin6_addr, name, QUOTA_NAME);
		return true;
	}
	if (address.ss_family == AF_INET) {
		inet_ntop(AF_INET, &in->sin_addr, name, QUOTA_NAME);
		return true;
	}
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) < 0)
		who.uid = (uid_t)-1;
	snprintf(name, QUOTA_NAME, "uid %d", (int)who.uid);
	*uid = who.uid;
	return false;
}

static struct gate_quota *quota_find(struct gate_connections *all, int fd)
{
	char name[QUOTA_NAME] = "";
	uid_t uid;
	bool is_remote = quota_read_name(fd, name, &uid);
	struct gate_quota *quota;

	TAILQ_FOREACH(quota, &all->quotas, link)
	{
		if (strcmp(quota->name, name) == 0)
			return quota;
	}
	quota = xcalloc(1, sizeof *quota);
	quota->all = all;
	quota->is_remote = is_remote;
	quota->uid = uid;
	memcpy(quota->name, name, sizeof name);
	TAILQ_INSERT_HEAD(&all->quotas, quota, link);
	return quota;
}

static void quota_drop_unused(struct gate_quota *quota)
{
	if (quota->connections > 0 || quota->requests > 0)
		return;
	TAILQ_REMOVE(&quota->all->quotas, quota, link);
	free(quota);
}

/* Returns how many connections a client may have, and also how many requests under way. */
static unsigned quota_bound(const struct gate_quota *quota)
{
	return quota->is_remote ? quota->all->bound / 4 : quota->all->bound / 2;
}

struct gate_connection *gate_connection_find(struct gate_connections *all, const struct bufferevent *buffer)
{
	struct gate_connection *c;

	TAILQ_FOREACH(c, &all->list, link)
	{
		if (c->buffer == buffer)
			break;
	}
	return c;
}

bool gate_connection_is_remote(const struct gate_connection *c)
{
	return c->quota->is_remote;
}

uid_t gate_connection_uid(const struct gate_connection *c)
{
	return c->quota->uid;
}

struct gate_quota *gate_quota_take(struct gate_connection *c, size_t size, struct err *e)
{
	struct gate_connections *all = c->all;

	if (!c->quota || c->quota->requests >= quota_bound(c->quota) || c->quota->request_bytes + size > all->most ||
	    (size > QUOTA_SMALL && all->request_bytes + size > QUOTAS * all->most)) {
		gate_refuse(e, "RT429", "too many requests of this client are under way");
		err_hint(e, "Nothing was done; try again when some of them have been answered.");
		return NULL;
	}
	c->quota->requests++;
	c->quota->request_bytes += size;
	all->request_bytes += size;
	return c->quota;
}

void gate_quota_release(struct gate_quota *quota, size_t size)
{
	quota->requests--;
	quota->request_bytes -= size;
	quota->all->request_bytes -= size;
	quota_drop_unused(quota);
}

unsigned *gate_quota_queries(struct gate_quota *quota)
{
	return &quota->queries;
}

/* Connections of clients. */

static bool connection_is_dead(const struct gate_connection *c)
{
	void *owner = NULL;

	bufferevent_getcb(c->buffer, NULL, NULL, NULL, &owner);
	return owner == NULL;
}

/* Refuse a connection by shutting it down. evhttp then reads the end of the connection and frees it. */
static void connection_refuse(struct gate_connection *c)
{
	c->refused = true;
	shutdown(bufferevent_getfd(c->buffer), SHUT_RDWR);
}

/* Count an accepted connection to its quota, or refuse it. */
static void connection_admit(struct gate_connection *c)
{
	struct gate_connections *all = c->all;
	struct gate_quota *quota = quota_find(all, bufferevent_getfd(c->buffer));

	if (all->count < all->bound && quota->connections < quota_bound(quota) && quota->requests < quota_bound(quota) &&
	    (!quota->is_remote || all->remote < all->bound / 2)) {
		c->quota = quota;
		quota->connections++;
		all->count++;
		all->remote += quota->is_remote;
		return;
	}
	if (all->refused++ == 0)
		log_warning("HTTP API: a connection of %s was refused: %u of this client are open", quota->name, all->count);
	quota_drop_unused(quota);
	connection_refuse(c);
}

static void connection_count(struct gate_connection *c, size_t added, size_t answered)
{
	c->unanswered += added - answered;
	c->quota->unanswered += added - answered;
	c->all->unanswered += added - answered;
}

static void connection_input_changed(struct evbuffer *input, const struct evbuffer_cb_info *info, void *arg)
{
	struct gate_connection *c = arg;
	const struct gate_quota *quota;

	(void)input;
	if (info->n_added == 0 || c->refused)
		return;
	if (!c->quota)
		connection_admit(c);
	if (c->refused)
		return;
	quota = c->quota;
	connection_count(c, info->n_added, 0);
	if (quota->unanswered <= c->all->most &&
	    (quota->unanswered <= QUOTA_SMALL || c->all->unanswered <= QUOTAS * c->all->most))
		return;
	log_warning("HTTP API: a connection of %s was closed: %zu bytes of its requests are unanswered", quota->name,
		    quota->unanswered);
	connection_refuse(c);
}

static void connection_output_changed(struct evbuffer *output, const struct evbuffer_cb_info *info, void *arg)
{
	struct gate_connection *c = arg;

	(void)output;
	if (info->n_added > 0 && c->quota)
		connection_count(c, 0, c->unanswered);
}

static void connection_remove(struct gate_connection *c)
{
	struct gate_connections *all = c->all;

	evbuffer_remove_cb(bufferevent_get_input(c->buffer), connection_input_changed, c);
	evbuffer_remove_cb(bufferevent_get_output(c->buffer), connection_output_changed, c);
	TAILQ_REMOVE(&all->list, c, link);
	if (c->quota) {
		connection_count(c, 0, c->unanswered);
		all->count--;
		all->remote -= c->quota->is_remote;
		c->quota->connections--;
		quota_drop_unused(c->quota);
	}
	bufferevent_decref(c->buffer);
	free(c);
}

static void connections_sweep(evutil_socket_t fd, short what, void *arg)
{
	struct gate_connections *all = arg;
	struct gate_connection *c, *next;

	(void)fd;
	for (c = TAILQ_FIRST(&all->list); c; c = next) {
		next = TAILQ_NEXT(c, link);
		if (connection_is_dead(c))
			connection_remove(c);
	}
	TAILQ_FOREACH(c, &all->list, link)
	{
		if (!c->quota && !c->refused)
			connection_admit(c);
	}
	if (!(what & EV_TIMEOUT))
		return;
	if (all->refused > 1)
		log_warning("HTTP API: %u connections were refused within %d s", all->refused, CONNECTION_SWEEP);
	all->refused = 0;
	if (TAILQ_EMPTY(&all->list)) /* the last connection is gone; refused connections were in the list, too */
		event_del(all->sweep);
}

struct gate_connections *gate_connections_new(struct event_base *base, unsigned bound, size_t most)
{
	struct gate_connections *all = xcalloc(1, sizeof *all);

	TAILQ_INIT(&all->list);
	TAILQ_INIT(&all->quotas);
	all->bound = bound;
	all->most = most;
	all->sweep = event_new(base, -1, EV_PERSIST, connections_sweep, all);
	return all;
}

void gate_connections_free(struct gate_connections *all)
{
	if (!all)
		return;
	while (!TAILQ_EMPTY(&all->list))
		connection_remove(TAILQ_FIRST(&all->list));
	event_free(all->sweep);
	free(all);
}

void gate_connection_add(struct gate_connections *all, struct bufferevent *buffer)
{
	struct gate_connection *c = xcalloc(1, sizeof *c);
	struct timeval often = {.tv_sec = CONNECTION_SWEEP};

	bufferevent_incref(buffer);
	c->all = all;
	c->buffer = buffer;
	evbuffer_add_cb(bufferevent_get_input(buffer), connection_input_changed, c);
	evbuffer_add_cb(bufferevent_get_output(buffer), connection_output_changed, c);
	TAILQ_INSERT_TAIL(&all->list, c, link);
	if (!event_pending(all->sweep, EV_TIMEOUT, NULL)) /* the sweep does not run while there are no connections */
		event_add(all->sweep, &often);
	event_active(all->sweep, 0, 0);
}

bool gate_connections_flushed(const struct gate_connections *all)
{
	const struct gate_connection *each;

	TAILQ_FOREACH(each, &all->list, link)
	{
		if (!connection_is_dead(each) && evbuffer_get_length(bufferevent_get_output(each->buffer)) > 0)
			return false;
	}
	return true;
}
