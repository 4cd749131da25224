/* gate_connection.c - connections of clients and the quota of each client, so that no client locks the others out.
 *
 * Called by: gate.c for each connection; gate_dispatch.c and gate_call.c for each request.
 * Invariants:
 * - From its first byte on, a connection counts to the quota of a user (Unix socket) or of an address (TLS). A TLS connection
 *   with a valid credential counts to the quota of its user, too.
 * - A connection that is past its deadline or beyond a bound is shut down. So is one whose client has too many unanswered bytes.
 * - A connection that became a relayed stream counts as two, and only gate_relay.c bounds it. */
#include "jobmgr/gate/gate_connection.h"

#include <event2/buffer.h>
#include <stdlib.h>
#include <sys/queue.h>
#include <sys/socket.h>

#include "jobmgr/gate/gate_deadline.h"
#include "lib/log.h"

enum {
	/* most refused connections of one listening socket that may still be open, besides the admitted ones */
	CONNECTIONS_ENDING = 25,
	CONNECTION_SWEEP = 1, /* seconds between two sweeps, which free ended connections and shut down late ones */
};

struct gate_connection {
	struct gate_connections *all;
	struct bufferevent *buffer;
	struct gate_quota *quota; /* quota of the client; NULL: the connection is not admitted yet, or was refused */
	struct gate_quota *user;  /* quota of the user of a TLS connection; NULL: not known yet */
	struct gate_deadline deadline;
	size_t unanswered;
	/* number of connections that this connection counts as: 2 while jobmgrd has a connection to a step manager for it */
	unsigned places;
	bool is_tls;
	bool is_proven; /* a request of the connection had a valid credential */
	bool refused;
	TAILQ_ENTRY(gate_connection) link;
};

struct gate_connections {
	const struct conf *conf;
	TAILQ_HEAD(, gate_connection) list; /* all connections in the order of their arrival */
	struct gate_quotas *quotas;
	/* number of admitted connections; of these by TLS; of these by TLS without a valid credential; most connections */
	unsigned count, remote, remote_unproven, bound;
	unsigned open, open_tls; /* number of connections in the list; of these by TLS */
	unsigned refused, late;	 /* number of connections refused, or shut down as late, since the last log line about them */
	size_t most, unanswered;
	struct event *sweep;
};

struct gate_connection *gate_connection_find(struct gate_connections *all, const struct bufferevent *buffer)
{
	struct gate_connection *c;

	TAILQ_FOREACH (c, &all->list, link) {
		if (c->buffer == buffer)
			break;
	}
	return c;
}

struct gate_quota *gate_connection_quota(const struct gate_connection *c)
{
	return c->quota;
}

bool gate_connection_is_remote(const struct gate_connection *c)
{
	return c->quota->is_remote;
}

uid_t gate_connection_uid(const struct gate_connection *c)
{
	return c->quota->uid;
}

/* Connections of clients. */

/* Has the connection ended? evhttp does not report this, but removes its callbacks from the buffer. The sweep frees such
 * buffers. */
static bool connection_is_dead(const struct gate_connection *c)
{
	void *owner = NULL;

	bufferevent_getcb(c->buffer, NULL, NULL, NULL, &owner);
	return owner == NULL;
}

static void connection_count_bytes(struct gate_connection *c, size_t added, size_t answered)
{
	c->unanswered += added - answered;
	c->quota->unanswered += added - answered;
	c->all->unanswered += added - answered;
}

/* Add an admitted connection to the counts of its quota (`number` 1), or subtract one that ends (-1). */
static void connection_count(struct gate_connection *c, int number)
{
	struct gate_connections *all = c->all;
	unsigned n = (unsigned)number * c->places, unproven = c->is_proven ? 0 : n, remote = c->quota->is_remote ? n : 0;

	c->quota->connections += n;
	c->quota->unproven += unproven;
	all->count += n;
	all->remote += remote;
	all->remote_unproven += c->is_proven ? 0 : remote;
}

/* Set the number of connections that this connection counts as. */
static void connection_set_places(struct gate_connection *c, unsigned places)
{
	c->all->open += places - c->places;
	c->all->open_tls += c->is_tls ? places - c->places : 0;
	if (c->quota)
		connection_count(c, -1);
	c->places = places;
	if (c->quota)
		connection_count(c, 1);
}

/* Subtract a connection from its quotas, with its unanswered bytes. */
static void connection_release(struct gate_connection *c)
{
	if (!c->quota)
		return;
	connection_count_bytes(c, 0, c->unanswered);
	connection_count(c, -1);
	gate_quota_drop_unused(c->quota);
	c->quota = NULL;
	if (!c->user)
		return;
	c->user->connections--;
	gate_quota_drop_unused(c->user);
	c->user = NULL;
}

/* Shut a connection down. evhttp then reads the end of the connection and frees it. */
static void connection_refuse(struct gate_connection *c)
{
	c->refused = true;
	connection_release(c);
	shutdown(bufferevent_getfd(c->buffer), SHUT_RDWR);
}

/* Shut down the oldest of a client's connections on which jobmgrd waits for bytes of the client. Returns false if there is
 * none. */
static bool connections_displace(struct gate_connections *all, const struct gate_quota *quota)
{
	struct gate_connection *c;

	TAILQ_FOREACH (c, &all->list, link) {
		if (c->quota != quota || !gate_deadline_is_waiting(&c->deadline))
			continue;
		connection_refuse(c);
		return true;
	}
	return false;
}

/* Make a place for one more connection of a client. If the quota or all places are used up, shut down a connection on which
 * jobmgrd waits for the client: one of the same client, or of the client with most connections. Returns false if there is no
 * place. */
static bool connections_make_place(struct gate_connections *all, const struct gate_quota *quota)
{
	const struct gate_quota *largest;

	if ((quota->connections >= gate_quota_bound(quota) || quota->unproven >= gate_quota_unproven_bound(quota)) &&
	    !connections_displace(all, quota))
		return false;
	if (quota->is_remote && (all->remote >= all->bound / 2 || all->remote_unproven >= all->bound / 4)) {
		largest = gate_quota_find_largest(quota, true);
		if (!largest || !connections_displace(all, largest))
			return false;
	}
	if (all->count >= gate_quota_total_bound(quota)) {
		largest = gate_quota_find_largest(quota, false);
		if (!largest || !connections_displace(all, largest))
			return false;
	}
	return true;
}

/* Admit an accepted connection and count it to its quota, or refuse it. */
static void connection_admit(struct gate_connection *c)
{
	struct gate_connections *all = c->all;
	struct gate_quota *quota = gate_quota_find_peer(all->quotas, bufferevent_getfd(c->buffer));
	unsigned before = all->count;

	if (quota->requests < gate_quota_bound(quota) && connections_make_place(all, quota)) {
		c->quota = quota;
		connection_count(c, 1);
		if (all->count > before)
			return;
	} else {
		connection_refuse(c);
	}
	if (all->refused++ == 0)
		log_warning("HTTP API: all connections in use: shut one down for a new one of %s, which now has %u", quota->name,
			    quota->connections);
	gate_quota_drop_unused(quota);
}

/* Count a request by TLS to the quota of its user. With the first valid credential of a connection, count the connection, too. */
static bool connection_take_user(struct gate_connection *c, uid_t uid, struct gate_quota **user, struct err *e)
{
	struct gate_quota *quota = gate_quota_find_remote_user(c->all->quotas, uid);

	if (!c->user && quota->connections >= gate_quota_bound(quota))
		return gate_quota_refuse(e);
	if (!gate_quota_take(quota, 0, e))
		return false;
	*user = quota;
	if (!c->user) {
		c->user = quota;
		quota->connections++;
	}
	return true;
}

bool gate_connection_prove(struct gate_connection *c, uid_t uid, struct gate_quota **user, struct err *e)
{
	*user = NULL;
	if (!c->quota) /* the connection is being shut down */
		return gate_quota_refuse(e);
	if (c->quota->is_remote && !connection_take_user(c, uid, user, e))
		return false;
	if (!c->is_proven) {
		connection_count(c, -1);
		c->is_proven = true;
		connection_count(c, 1);
	}
	gate_quota_set_known(c->quota);
	return true;
}

void gate_connection_serve(struct gate_connection *c)
{
	gate_deadline_serve(&c->deadline);
}

bool gate_connection_double(struct gate_connection *c, struct err *e)
{
	if (!c->quota || !connections_make_place(c->all, c->quota))
		return gate_quota_refuse(e);
	connection_set_places(c, 2);
	return true;
}

void gate_connection_undouble(struct gate_connection *c)
{
	connection_set_places(c, 1);
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
	gate_deadline_read(&c->deadline, c->all->conf, c->buffer, info->n_added);
	connection_count_bytes(c, info->n_added, 0);
	if (quota->unanswered <= c->all->most &&
	    (quota->unanswered <= GATE_QUOTA_SMALL || c->all->unanswered <= GATE_QUOTAS * c->all->most))
		return;
	log_warning("HTTP API: a connection of %s was closed: %zu bytes of its requests are unanswered", quota->name,
		    quota->unanswered);
	connection_refuse(c);
}

static void connection_output_changed(struct evbuffer *output, const struct evbuffer_cb_info *info, void *arg)
{
	struct gate_connection *c = arg;

	(void)output;
	if (info->n_added == 0 || !c->quota)
		return;
	gate_deadline_written(&c->deadline, c->all->conf);
	connection_count_bytes(c, 0, c->unanswered);
}

void gate_connection_hand_over(struct gate_connection *c)
{
	evbuffer_remove_cb(bufferevent_get_input(c->buffer), connection_input_changed, c);
	evbuffer_remove_cb(bufferevent_get_output(c->buffer), connection_output_changed, c);
	if (c->quota)
		connection_count_bytes(c, 0, c->unanswered);
}

static void connection_remove(struct gate_connection *c)
{
	gate_connection_hand_over(c);
	TAILQ_REMOVE(&c->all->list, c, link);
	c->all->open -= c->places;
	c->all->open_tls -= c->is_tls ? c->places : 0;
	connection_release(c);
	bufferevent_decref(c->buffer);
	free(c);
}

/* Shut down a connection whose client has passed its deadline. */
static void connection_check_deadline(struct gate_connection *c)
{
	if (!gate_deadline_is_over(&c->deadline, c->all->conf, c->buffer, c->is_proven))
		return;
	if (c->all->late++ == 0)
		log_info("HTTP API: a connection of %s was closed: the client took too long (%s)", c->quota->name,
			 gate_deadline_name(&c->deadline));
	connection_refuse(c);
}

/* Log how many connections were refused or late since the last sweep. The first of each was logged at once. */
static void connections_log(struct gate_connections *all)
{
	if (all->refused > 1)
		log_warning("HTTP API: %u connections were shut down within %d s", all->refused, CONNECTION_SWEEP);
	if (all->late > 1)
		log_info("HTTP API: %u connections were closed: their clients took too long", all->late);
	all->refused = all->late = 0;
}

void gate_connections_remove_ended(struct gate_connections *all)
{
	struct gate_connection *c, *next;

	for (c = TAILQ_FIRST(&all->list); c; c = next) {
		next = TAILQ_NEXT(c, link);
		if (connection_is_dead(c))
			connection_remove(c);
	}
}

/* The Unix socket and the TLS socket each have CONNECTIONS_ENDING places for refused connections, so that clients who fill the
 * queue of one socket do not delay those of the other. */
bool gate_connections_are_full(const struct gate_connections *all, bool is_tls)
{
	unsigned open = is_tls ? all->open_tls : all->open - all->open_tls;
	unsigned admitted = is_tls ? all->remote : all->count - all->remote;

	return all->open >= all->bound && open - admitted >= CONNECTIONS_ENDING;
}

static void connections_sweep(evutil_socket_t fd, short what, void *arg)
{
	struct gate_connections *all = arg;
	struct gate_connection *c;

	(void)fd;
	gate_connections_remove_ended(all);
	TAILQ_FOREACH (c, &all->list, link) {
		if (!c->quota && !c->refused)
			connection_admit(c);
		if (!c->refused && what & EV_TIMEOUT)
			connection_check_deadline(c);
	}
	if (!(what & EV_TIMEOUT))
		return;
	connections_log(all);
	gate_quotas_sweep(all->quotas);
	if (TAILQ_EMPTY(&all->list)) /* no connection is left; the list has refused connections, too */
		event_del(all->sweep);
}

struct gate_connections *gate_connections_new(struct event_base *base, const struct conf *conf, unsigned bound, size_t most)
{
	struct gate_connections *all = xcalloc(1, sizeof *all);

	TAILQ_INIT(&all->list);
	all->quotas = gate_quotas_new(conf, bound, most);
	all->conf = conf;
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
	gate_quotas_free(all->quotas);
	event_free(all->sweep);
	free(all);
}

void gate_connection_add(struct gate_connections *all, struct bufferevent *buffer, bool is_tls)
{
	struct gate_connection *c = xcalloc(1, sizeof *c);
	struct timeval often = {.tv_sec = CONNECTION_SWEEP};

	bufferevent_incref(buffer);
	c->all = all;
	c->buffer = buffer;
	c->is_tls = is_tls;
	c->places = 1;
	gate_deadline_begin(&c->deadline, all->conf, is_tls);
	evbuffer_add_cb(bufferevent_get_input(buffer), connection_input_changed, c);
	evbuffer_add_cb(bufferevent_get_output(buffer), connection_output_changed, c);
	TAILQ_INSERT_TAIL(&all->list, c, link);
	all->open++;
	all->open_tls += is_tls ? 1 : 0;
	if (!event_pending(all->sweep, EV_TIMEOUT, NULL)) /* the sweep does not run while there are no connections */
		event_add(all->sweep, &often);
	event_active(all->sweep, 0, 0);
}

bool gate_connections_flushed(const struct gate_connections *all)
{
	const struct gate_connection *each;

	TAILQ_FOREACH (each, &all->list, link) {
		if (!connection_is_dead(each) && evbuffer_get_length(bufferevent_get_output(each->buffer)) > 0)
			return false;
	}
	return true;
}
