/* gate_connection.c - bounds on connections and on what is read from them, so that nobody locks the others out.
 *
 * evhttp accepts without asking and does not tell of connections that end, so each one's buffer is held by a reference of ours:
 * evhttp's bufferevent_free takes the call backs off a buffer, and one without is a connection that has ended.
 * gate.c and gate_intake.c call it. What always holds: each connection has a holder from its first byte on, the user behind a Unix
 * socket or the address behind TLS (nobody has said yet who asks); one above the bounds is shut down in the same turn of the loop,
 * and so is one by which its holder has more unanswered bytes with us than allowed; a dead one is let go at the next new one,
 * within CONNECTION_SWEEP at the latest. A request counts for its holder until it is over, though its client be gone: to hang up
 * makes no room. All holders together have HOLDERS times the room of one, but for small requests there always is some. */
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
	CONNECTION_SWEEP = 1, /* seconds */
	HOLDERS = 4,
	HOLDER_SMALL = 1024 * 1024, /* bytes that never count as too much */
	HOLDER_NAME = 64
};

struct gate_holder {
	struct gate_connections *all;
	char name[HOLDER_NAME]; /* "uid 1000", "10.0.0.7" */
	bool outside;
	unsigned connections, serving, calls;
	size_t unanswered, served; /* bytes read since the last answer; bytes of requests that are served */
	TAILQ_ENTRY(gate_holder) link;
};

struct connection {
	struct gate_connections *all;
	struct bufferevent *buffer;
	struct gate_holder *holder; /* NULL: not known yet, or not admitted */
	size_t unanswered;
	bool refused;
	TAILQ_ENTRY(connection) link;
};

struct gate_connections {
	TAILQ_HEAD(, connection) list;
	TAILQ_HEAD(, gate_holder) holders;
	unsigned count, outside, bound; /* of those admitted; of them by TLS */
	unsigned refused;		/* since that was last said */
	size_t most, unanswered, served;
	struct event *sweep;
};

/* holders */

/* Who is at the other end. A provider gives each of its customers a /64 at least: those are one. */
static bool peer_name(int fd, char name[HOLDER_NAME])
{
	struct sockaddr_storage address = {0};
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&address;
	const struct sockaddr_in *in = (const struct sockaddr_in *)&address;
	struct ucred who;
	socklen_t size = sizeof who, length = sizeof address;

	if (getpeername(fd, (struct sockaddr *)&address, &length) == 0 && address.ss_family == AF_INET6) {
		if (!IN6_IS_ADDR_V4MAPPED(&in6->sin6_addr))
			memset(in6->sin6_addr.s6_addr + 8, 0, 8);
		inet_ntop(AF_INET6, &in6->sin6_addr, name, HOLDER_NAME);
		return true;
	}
	if (address.ss_family == AF_INET) {
		inet_ntop(AF_INET, &in->sin_addr, name, HOLDER_NAME);
		return true;
	}
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) < 0)
		who.uid = (uid_t)-1;
	snprintf(name, HOLDER_NAME, "uid %d", (int)who.uid);
	return false;
}

static struct gate_holder *holder_find(struct gate_connections *all, int fd)
{
	char name[HOLDER_NAME] = "";
	bool outside = peer_name(fd, name);
	struct gate_holder *holder;

	TAILQ_FOREACH(holder, &all->holders, link)
	{
		if (strcmp(holder->name, name) == 0)
			return holder;
	}
	holder = xcalloc(1, sizeof *holder);
	holder->all = all;
	holder->outside = outside;
	memcpy(holder->name, name, sizeof name);
	TAILQ_INSERT_HEAD(&all->holders, holder, link);
	return holder;
}

static void holder_put(struct gate_holder *holder)
{
	if (holder->connections > 0 || holder->serving > 0)
		return;
	TAILQ_REMOVE(&holder->all->holders, holder, link);
	free(holder);
}

/* How many connections, and requests under way, a holder may have. */
static unsigned holder_bound(const struct gate_holder *holder)
{
	return holder->outside ? holder->all->bound / 4 : holder->all->bound / 2;
}

struct gate_holder *gate_holder_serve(struct gate_connections *all, const struct bufferevent *buffer, size_t size, struct err *e)
{
	struct connection *c;

	TAILQ_FOREACH(c, &all->list, link)
	{
		if (c->buffer == buffer)
			break;
	}
	if (!c || !c->holder || c->holder->serving >= holder_bound(c->holder) || c->holder->served + size > all->most ||
	    (size > HOLDER_SMALL && all->served + size > HOLDERS * all->most)) {
		gate_refuse(e, "RT429", "too many requests are under way");
		err_hint(e, "Nothing was done; try again when some of yours have been answered.");
		return NULL;
	}
	c->holder->serving++;
	c->holder->served += size;
	all->served += size;
	return c->holder;
}

void gate_holder_done(struct gate_holder *holder, size_t size)
{
	holder->serving--;
	holder->served -= size;
	holder->all->served -= size;
	holder_put(holder);
}

unsigned *gate_holder_calls(struct gate_holder *holder)
{
	return &holder->calls;
}

/* connections */

static bool connection_is_dead(const struct connection *c)
{
	void *owner = NULL;

	bufferevent_getcb(c->buffer, NULL, NULL, NULL, &owner);
	return owner == NULL;
}

/* evhttp finds the end of the connection and frees it. */
static void connection_refuse(struct connection *c)
{
	c->refused = true;
	shutdown(bufferevent_getfd(c->buffer), SHUT_RDWR);
}

/* Give an accepted connection its holder, if there is room for it. */
static void connection_admit(struct connection *c)
{
	struct gate_connections *all = c->all;
	struct gate_holder *holder = holder_find(all, bufferevent_getfd(c->buffer));

	if (all->count < all->bound && holder->connections < holder_bound(holder) && holder->serving < holder_bound(holder) &&
	    (!holder->outside || all->outside < all->bound / 2)) {
		c->holder = holder;
		holder->connections++;
		all->count++;
		all->outside += holder->outside;
		return;
	}
	if (all->refused++ == 0)
		log_warning("a connection of %s was refused, %u are open", holder->name, all->count);
	holder_put(holder);
	connection_refuse(c);
}

static void connection_count(struct connection *c, size_t added, size_t answered)
{
	c->unanswered += added - answered;
	c->holder->unanswered += added - answered;
	c->all->unanswered += added - answered;
}

static void input_changed(struct evbuffer *input, const struct evbuffer_cb_info *info, void *arg)
{
	struct connection *c = arg;
	const struct gate_holder *holder;

	(void)input;
	if (info->n_added == 0 || c->refused)
		return;
	if (!c->holder)
		connection_admit(c);
	if (c->refused)
		return;
	holder = c->holder;
	connection_count(c, info->n_added, 0);
	if (holder->unanswered <= c->all->most &&
	    (holder->unanswered <= HOLDER_SMALL || c->all->unanswered <= HOLDERS * c->all->most))
		return;
	log_warning("a connection of %s was ended: %zu bytes of its requests are unanswered", holder->name, holder->unanswered);
	connection_refuse(c);
}

static void output_changed(struct evbuffer *output, const struct evbuffer_cb_info *info, void *arg)
{
	struct connection *c = arg;

	(void)output;
	if (info->n_added > 0 && c->holder)
		connection_count(c, 0, c->unanswered);
}

static void connection_remove(struct connection *c)
{
	struct gate_connections *all = c->all;

	evbuffer_remove_cb(bufferevent_get_input(c->buffer), input_changed, c);
	evbuffer_remove_cb(bufferevent_get_output(c->buffer), output_changed, c);
	TAILQ_REMOVE(&all->list, c, link);
	if (c->holder) {
		connection_count(c, 0, c->unanswered);
		all->count--;
		all->outside -= c->holder->outside;
		c->holder->connections--;
		holder_put(c->holder);
	}
	bufferevent_decref(c->buffer);
	free(c);
}

static void connections_sweep(evutil_socket_t fd, short what, void *arg)
{
	struct gate_connections *all = arg;
	struct connection *c, *next;

	(void)fd;
	for (c = TAILQ_FIRST(&all->list); c; c = next) {
		next = TAILQ_NEXT(c, link);
		if (connection_is_dead(c))
			connection_remove(c);
	}
	TAILQ_FOREACH(c, &all->list, link)
	{
		if (!c->holder && !c->refused)
			connection_admit(c);
	}
	if (!(what & EV_TIMEOUT))
		return;
	if (all->refused > 1)
		log_warning("%u connections were refused within %d s", all->refused, CONNECTION_SWEEP);
	all->refused = 0;
	if (TAILQ_EMPTY(&all->list)) /* what was refused since the last time stood there until now */
		event_del(all->sweep);
}

struct gate_connections *gate_connections_new(struct event_base *base, unsigned bound, size_t most)
{
	struct gate_connections *all = xcalloc(1, sizeof *all);

	TAILQ_INIT(&all->list);
	TAILQ_INIT(&all->holders);
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
	struct connection *c = xcalloc(1, sizeof *c);
	struct timeval often = {.tv_sec = CONNECTION_SWEEP};

	bufferevent_incref(buffer);
	c->all = all;
	c->buffer = buffer;
	evbuffer_add_cb(bufferevent_get_input(buffer), input_changed, c);
	evbuffer_add_cb(bufferevent_get_output(buffer), output_changed, c);
	TAILQ_INSERT_TAIL(&all->list, c, link);
	if (!event_pending(all->sweep, EV_TIMEOUT, NULL)) /* it stands still while there is nobody */
		event_add(all->sweep, &often);
	event_active(all->sweep, 0, 0);
}

bool gate_connections_flushed(const struct gate_connections *all)
{
	const struct connection *each;

	TAILQ_FOREACH(each, &all->list, link)
	{
		if (!connection_is_dead(each) && evbuffer_get_length(bufferevent_get_output(each->buffer)) > 0)
			return false;
	}
	return true;
}
