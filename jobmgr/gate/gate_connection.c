/* gate_connection.c - bounds on connections and on what is read from them, so that no user locks the others out.
 *
 * evhttp accepts without asking and does not tell of connections that end, so each one's buffer is held by a reference of ours:
 * evhttp's bufferevent_free takes the call backs off a buffer, and one without is a connection that has ended.
 * gate.c calls it. What always holds: a connection above the bounds is shut down in the same turn of the loop, and so is one by
 * which its user has more unanswered bytes with us than allowed (nobody has said yet who he is, but for the socket); a dead one is
 * let go at the next new one, within CONNECTION_SWEEP at the latest. */
#include "jobmgr/gate/gate_connection.h"

#include <event2/buffer.h>
#include <stdlib.h>
#include <sys/queue.h>
#include <sys/socket.h>

#include "lib/err.h"
#include "lib/log.h"

enum { CONNECTION_SWEEP = 1 }; /* seconds */

struct connection {
	struct gate_connections *all;
	struct bufferevent *buffer;
	size_t unanswered; /* bytes read since the last answer */
	bool admitted, over;
	uid_t uid; /* who holds it, -1: not known (TLS) */
	TAILQ_ENTRY(connection) link;
};

struct gate_connections {
	TAILQ_HEAD(, connection) list;
	unsigned count, bound; /* of those admitted */
	unsigned refused;      /* since that was last said */
	size_t most;	       /* unanswered bytes of one user */
	struct event *sweep;
};

static bool connection_is_dead(const struct connection *c)
{
	void *owner = NULL;

	bufferevent_getcb(c->buffer, NULL, NULL, NULL, &owner);
	return owner == NULL;
}

/* Unanswered bytes of a user, or of all whom no socket names. */
static size_t connections_unanswered(const struct gate_connections *all, uid_t uid)
{
	const struct connection *each;
	size_t sum = 0;

	TAILQ_FOREACH(each, &all->list, link)
	sum += each->uid == uid ? each->unanswered : 0;
	return sum;
}

static void input_changed(struct evbuffer *input, const struct evbuffer_cb_info *info, void *arg)
{
	struct connection *c = arg;

	(void)input;
	c->unanswered += info->n_added;
	if (info->n_added == 0 || c->over || connections_unanswered(c->all, c->uid) <= c->all->most)
		return;
	c->over = true;
	log_warning("a connection of uid %d was ended: more than %zu bytes of requests", (int)c->uid, c->all->most);
	shutdown(bufferevent_getfd(c->buffer), SHUT_RDWR);
}

static void output_changed(struct evbuffer *output, const struct evbuffer_cb_info *info, void *arg)
{
	struct connection *c = arg;

	(void)output;
	if (info->n_added > 0)
		c->unanswered = 0;
}

static void connection_remove(struct gate_connections *all, struct connection *c)
{
	evbuffer_remove_cb(bufferevent_get_input(c->buffer), input_changed, c);
	evbuffer_remove_cb(bufferevent_get_output(c->buffer), output_changed, c);
	TAILQ_REMOVE(&all->list, c, link);
	all->count -= c->admitted;
	bufferevent_decref(c->buffer);
	free(c);
}

/* Whether one more connection of this user is within the bounds. */
static bool connection_fits(const struct gate_connections *all, uid_t uid)
{
	const struct connection *each;
	unsigned same = 0;

	TAILQ_FOREACH(each, &all->list, link)
	same += each->admitted && each->uid == uid;
	return all->count < all->bound && (uid == (uid_t)-1 || same < all->bound / 2);
}

static void connection_admit(struct gate_connections *all, struct connection *c)
{
	int fd = bufferevent_getfd(c->buffer);
	struct ucred who = {.uid = (uid_t)-1};
	socklen_t size = sizeof who;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) == 0)
		c->uid = who.uid;
	if (connection_fits(all, c->uid)) {
		c->admitted = true;
		all->count++;
		return;
	}
	if (all->refused++ == 0)
		log_warning("a connection of uid %d was refused, %u are open", (int)c->uid, all->count);
	shutdown(fd, SHUT_RDWR); /* evhttp finds its end and frees it */
}

static void connections_sweep(evutil_socket_t fd, short what, void *arg)
{
	struct gate_connections *all = arg;
	struct connection *c, *next;

	(void)fd;
	for (c = TAILQ_FIRST(&all->list); c; c = next) {
		next = TAILQ_NEXT(c, link);
		if (connection_is_dead(c))
			connection_remove(all, c);
	}
	TAILQ_FOREACH(c, &all->list, link)
	{
		if (!c->admitted)
			connection_admit(all, c);
	}
	if (!(what & EV_TIMEOUT))
		return;
	if (all->refused > 1)
		log_warning("%u connections were refused within %d s", all->refused, CONNECTION_SWEEP);
	all->refused = 0;
}

struct gate_connections *gate_connections_new(struct event_base *base, unsigned bound, size_t most)
{
	struct gate_connections *all = xcalloc(1, sizeof *all);
	struct timeval often = {.tv_sec = CONNECTION_SWEEP};

	TAILQ_INIT(&all->list);
	all->bound = bound;
	all->most = most;
	all->sweep = event_new(base, -1, EV_PERSIST, connections_sweep, all);
	event_add(all->sweep, &often);
	return all;
}

void gate_connections_free(struct gate_connections *all)
{
	if (!all)
		return;
	while (!TAILQ_EMPTY(&all->list))
		connection_remove(all, TAILQ_FIRST(&all->list));
	event_free(all->sweep);
	free(all);
}

void gate_connection_add(struct gate_connections *all, struct bufferevent *buffer)
{
	struct connection *c = xcalloc(1, sizeof *c);

	bufferevent_incref(buffer);
	c->all = all;
	c->buffer = buffer;
	c->uid = (uid_t)-1;
	evbuffer_add_cb(bufferevent_get_input(buffer), input_changed, c);
	evbuffer_add_cb(bufferevent_get_output(buffer), output_changed, c);
	TAILQ_INSERT_TAIL(&all->list, c, link);
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
