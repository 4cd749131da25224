/* gate_relay.c - copies bytes between a client and the step manager of its step (gate_relay.h).
 *
 * Called by: gate_dispatch.c for each request; gate.c at start and stop; the event loop for bytes and ends of connections.
 * Invariants:
 * - Only the owner of a running step has a stream to it: the database answers nobody else (api.step_token).
 * - Host and port come from the database, never from the request. The user's step manager has reported the port, so it is
 *   checked: step managers must be allowed to listen at it. The host must be in gate.relay_hosts.
 * - At most RELAY_MOST bytes and one read more wait in memory for each end of a stream. Until that end takes them, the other
 *   end is not read. Reading has no watermark: libevent loses what OpenSSL has decrypted when it stops at one.
 * - A request becomes a stream when the step manager's host has accepted the connection. Until then gate_call.c owns the
 *   relay. */
#include "jobmgr/gate/gate_relay.h"

#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "jobmgr/gate/gate_answer.h"
#include "jobmgr/gate/gate_hosts.h"
#include "jobmgr/gate/gate_lookup.h"
#include "lib/keepalive.h"
#include "lib/text.h"

#define RELAY_PROTOCOL "rota-step"

enum {
	RELAY_MOST = 256 * 1024, /* most bytes that wait for one end of a stream; above that, the other end is not read */
	RELAY_FEW = 64 * 1024,	 /* when no more than this many bytes wait for one end, the other end is read again */
	RELAY_CONNECT = 5,	 /* seconds within which the step manager's host must accept the connection */
	RELAY_PORT = 1024	 /* lowest port at which a user may listen */
};

struct gate_relays {
	struct gate_server *server;
	struct gate_hosts *hosts;
	/* all relayed streams, and requests for streams */
	TAILQ_HEAD(relay_list, relay) list;
	int count;
};

/* A relayed stream between a client and a step manager, or the request for one. */
struct relay {
	struct gate_relays *all;
	uid_t uid;
	char host[256];
	int port;
	struct gate_lookup *lookup;	      /* lookup of the step manager's host; NULL: none is under way */
	struct gate_call *call;		      /* request for the stream; NULL: it has been answered, and the stream exists */
	struct evhttp_connection *connection; /* connection of the client, which evhttp owns */
	struct bufferevent *client, *manager; /* the two ends of the stream; `client` is that of `connection` */
	bool is_ending; /* one end is closed; the stream ends when the bytes that it sent have been sent to the other end */
	TAILQ_ENTRY(relay) link;
};

/* Life of a relay. */

static void relay_free(struct relay *r)
{
	if (r->lookup)
		gate_lookup_drop(r->lookup);
	if (r->manager)
		bufferevent_free(r->manager);
	TAILQ_REMOVE(&r->all->list, r, link);
	r->all->count--;
	free(r);
}

/* End a relayed stream, with both connections. */
static void relay_end(struct relay *r)
{
	struct evhttp_connection *connection = r->connection;

	evhttp_connection_set_closecb(connection, NULL, NULL);
	relay_free(r);
	evhttp_connection_free(connection);
}

/* Called when evhttp frees the connection of a stream, because jobmgrd exits. */
static void relay_lose_connection(struct evhttp_connection *connection, void *arg)
{
	(void)connection;
	relay_free(arg);
}

static void relay_free_call(struct gate_call *c)
{
	relay_free(c->state);
}

static const struct gate_verb relay_verb = {NULL, relay_free_call};

/* Copying. */

static struct bufferevent *relay_other(const struct relay *r, const struct bufferevent *side)
{
	return side == r->client ? r->manager : r->client;
}

static size_t relay_waiting(struct bufferevent *side)
{
	return evbuffer_get_length(bufferevent_get_output(side));
}

/* Send the bytes that one end of a stream has sent on to the other end. Stop reading from the first end while too many bytes wait to be
 * sent. */
static void relay_read(struct bufferevent *from, void *arg)
{
	struct bufferevent *to = relay_other(arg, from);

	evbuffer_add_buffer(bufferevent_get_output(to), bufferevent_get_input(from));
	if (relay_waiting(to) >= RELAY_MOST)
		bufferevent_disable(from, EV_READ);
}

/* Called when few bytes are left to send to one end of a stream: the other end is read again. A stream that is ending ends when
 * none are left. */
static void relay_written(struct bufferevent *to, void *arg)
{
	struct relay *r = arg;

	if (!r->is_ending)
		bufferevent_enable(relay_other(r, to), EV_READ);
	else if (relay_waiting(to) == 0)
		relay_end(r);
}

/* Called when one end of a stream is connected, closed or has failed. If it is closed, what it sent is still sent to the other
 * end, as long as that end takes bytes within gate.answer_timeout. */
static void relay_changed(struct bufferevent *side, short what, void *arg)
{
	struct relay *r = arg;
	struct bufferevent *other = relay_other(r, side);
	const struct timeval most = {.tv_sec = r->all->server->conf->gate_answer_timeout};

	if (what & BEV_EVENT_CONNECTED)
		return;
	if (r->is_ending || relay_waiting(other) == 0) {
		relay_end(r);
		return;
	}
	r->is_ending = true;
	bufferevent_disable(side, EV_READ | EV_WRITE);
	bufferevent_disable(other, EV_READ);
	bufferevent_setwatermark(other, EV_WRITE, 0, 0);
	bufferevent_set_timeouts(other, NULL, &most);
}

/* Have one end of a stream read and written without a timeout, since a stream may be idle. The timeout is set to a time that is
 * never reached: if it were removed, libevent would apply evhttp's timeout again after the next event. */
static void relay_start_side(struct relay *r, struct bufferevent *side)
{
	static const struct timeval never = {.tv_sec = 10L * 365 * 24 * 3600};

	keepalive_watch(bufferevent_getfd(side));
	bufferevent_set_timeouts(side, &never, &never);
	bufferevent_setwatermark(side, EV_WRITE, RELAY_FEW, 0);
	bufferevent_setcb(side, relay_read, relay_written, relay_changed, r);
	bufferevent_enable(side, EV_READ | EV_WRITE);
}

/* Turn the request for a stream into the stream. */

static void relay_fail(struct relay *r, const struct err *e)
{
	struct gate_call *c = r->call;

	if (c->http)
		gate_connection_undouble(c->connection);
	gate_call_fail(c, e, NULL);
}

static void relay_fail_connecting(struct relay *r, const char *why)
{
	struct err e;

	gate_refuse(&e, "RT502", "jobmgrd could not reach the step manager at %s port %d: %s", r->host, r->port, why);
	err_hint(&e, "The host of jobmgrd needs a way to the nodes: docs/administering.md, \"Ports\".");
	relay_fail(r, &e);
}

/* Called when the step manager's host has accepted the connection: the request becomes a stream. */
static void relay_start(struct relay *r)
{
	static const char answer[] =
		"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: " RELAY_PROTOCOL "\r\n\r\n";
	struct gate_call *c = r->call;

	r->connection = evhttp_request_get_connection(c->http);
	r->client = evhttp_connection_get_bufferevent(r->connection);
	r->call = NULL;
	evhttp_connection_set_closecb(r->connection, relay_lose_connection, r);
	gate_connection_hand_over(c->connection);
	c->verb = NULL;
	gate_call_hand_over(c);
	bufferevent_write(r->client, answer, sizeof answer - 1);
	relay_start_side(r, r->client);
	relay_start_side(r, r->manager);
	relay_read(r->client, r); /* pass on bytes that came with the request */
}

static void relay_connected(struct bufferevent *manager, short what, void *arg)
{
	struct relay *r = arg;

	(void)manager;
	if (!r->call->http)
		gate_call_abandon(r->call);
	else if (what & BEV_EVENT_CONNECTED)
		relay_start(r);
	else
		relay_fail_connecting(r, what & BEV_EVENT_TIMEOUT ? "no answer" : strerrordesc_np(EVUTIL_SOCKET_ERROR()));
}

static void relay_connect(struct relay *r, const struct addrinfo *host)
{
	static const struct timeval most = {.tv_sec = RELAY_CONNECT};

	r->manager = bufferevent_socket_new(r->all->server->base, -1, BEV_OPT_CLOSE_ON_FREE | BEV_OPT_DEFER_CALLBACKS);
	if (!r->manager)
		die("could not make a buffer");
	bufferevent_setcb(r->manager, NULL, NULL, relay_connected, r);
	bufferevent_set_timeouts(r->manager, NULL, &most);
	if (bufferevent_socket_connect(r->manager, host->ai_addr, (int)host->ai_addrlen) < 0)
		relay_fail_connecting(r, strerrordesc_np(errno));
}

static void relay_found(int code, const struct addrinfo *found, void *arg)
{
	struct relay *r = arg;
	struct err e;

	r->lookup = NULL;
	if (!r->call->http) {
		gate_call_abandon(r->call);
		return;
	}
	if (code) {
		relay_fail_connecting(r, gai_strerror(code));
		return;
	}
	while (found && !gate_hosts_are_none(r->all->hosts) && !gate_hosts_have_address(r->all->hosts, found->ai_addr))
		found = found->ai_next;
	if (found) {
		relay_connect(r, found);
		return;
	}
	gate_refuse(&e, "RT403", "jobmgrd does not relay to %s: its address is not in gate.relay_hosts", r->host);
	relay_fail(r, &e);
}

/* Requests. */

/* May a step manager listen at this port? */
static bool relay_port_is_good(const struct conf *conf, int port)
{
	int first = RELAY_PORT, last = 65535;

	if (*conf->node_step_ports && !text_range(conf->node_step_ports, 1, 65535, &first, &last))
		return false;
	return port >= first && port <= last;
}

/* Read from the database's answer at which host and port the step manager listens. */
static bool relay_read_target(const struct conf *conf, const json_t *answer, const char **host, int *port, struct err *e)
{
	json_int_t number = json_integer_value(json_object_get(answer, "port"));

	*host = json_string_value(json_object_get(answer, "host"));
	*port = number > 0 && number <= 65535 ? (int)number : 0;
	if (json_is_false(json_object_get(answer, "ready"))) {
		gate_refuse(e, "RT409", "the step manager does not listen yet");
		return err_hint(e, "Ask for a token (\"step_token\") until \"ready\" is true.");
	}
	if (!*host || strlen(*host) >= sizeof((struct relay *)NULL)->host)
		return gate_refuse(e, "RT502", "the node of the step has reported no address");
	if (!relay_port_is_good(conf, *port)) {
		gate_refuse(e, "RT403", "jobmgrd does not relay to port %d", *port);
		return err_hint(e, "Step managers listen at a port of node.step_ports (rota.conf), or at one from %d on.",
				RELAY_PORT);
	}
	return true;
}

/* May the user have one more relayed stream? If not, sets the error. */
static bool relay_is_free(const struct gate_relays *all, uid_t uid, struct err *e)
{
	const struct conf *conf = all->server->conf;
	const struct relay *r;
	int own = 0;

	TAILQ_FOREACH (r, &all->list, link)
		own += r->uid == uid;
	if (conf->gate_relays == 0)
		return gate_refuse(e, "RT403", "jobmgrd relays no streams (gate.relays is 0)");
	if (own < conf->gate_user_relays && all->count < conf->gate_relays)
		return true;
	if (own >= conf->gate_user_relays)
		gate_refuse(e, "RT429", "jobmgrd relays %d streams of yours, the most that one user may have (gate.user_relays)",
			    own);
	else
		gate_refuse(e, "RT429", "jobmgrd relays %d streams, the most at a time (gate.relays)", all->count);
	return err_hint(e, "Nothing was done; try again when one has ended, or work on a machine that reaches the nodes.");
}

static void relay_look_up(struct gate_call *c, const char *host, int port)
{
	struct gate_relays *all = c->server->relays;
	struct relay *r = xcalloc(1, sizeof *r);
	struct err e;

	*r = (struct relay){.all = all, .uid = c->credential->uid, .port = port, .call = c};
	snprintf(r->host, sizeof r->host, "%s", host);
	TAILQ_INSERT_TAIL(&all->list, r, link);
	all->count++;
	c->state = r;
	c->verb = &relay_verb;
	r->lookup = gate_lookup_start(all->server->base, host, port, relay_found, r);
	if (r->lookup)
		return;
	gate_refuse(&e, "RT503", "jobmgrd has no file or thread left for a relayed stream");
	relay_fail(r, &e);
}

static void relay_answered(struct gate_call *c, const char *text, const struct err *failure)
{
	json_t *answer = text ? json_loads(text, 0, NULL) : NULL;
	const char *host;
	struct err e;
	int port;

	if (failure)
		gate_call_fail(c, failure, NULL);
	else if (!relay_read_target(c->server->conf, answer, &host, &port, &e) ||
		 !relay_is_free(c->server->relays, c->credential->uid, &e) || !gate_connection_double(c->connection, &e))
		gate_call_fail(c, &e, NULL);
	else
		relay_look_up(c, host, port);
	json_decref(answer);
}

static void relay_ask(struct gate_call *c)
{
	gate_call_request(c, c->route->function, c->request, relay_answered);
}

void gate_relay(struct gate_call *c)
{
	const char *protocol = evhttp_find_header(evhttp_request_get_input_headers(c->http), "Upgrade");
	struct err e;

	if (protocol && strcasecmp(protocol, RELAY_PROTOCOL) == 0) {
		c->send = relay_ask;
		relay_ask(c);
		return;
	}
	gate_refuse(&e, "RT426", "the answer to \"%s\" is a stream, not JSON", c->route->verb);
	err_hint(&e, "Send the headers \"Connection: Upgrade\" and \"Upgrade: " RELAY_PROTOCOL
		     "\"; docs/step-protocol.md shows how.");
	gate_call_fail(c, &e, NULL);
}

/* The set of relayed streams. */

struct gate_relays *gate_relays_new(struct gate_server *server, struct err *e)
{
	struct err cause;
	struct gate_hosts *hosts = gate_hosts_new(server->conf->gate_relay_hosts, &cause);
	struct gate_relays *all;

	if (!hosts) {
		err_set(e, "\"relay_hosts\" in section \"gate\": %s", cause.message);
		err_hint(e, "Write for example 10.1.0.0/16, or leave it empty.");
		return NULL;
	}
	all = xcalloc(1, sizeof *all);
	all->server = server;
	all->hosts = hosts;
	TAILQ_INIT(&all->list);
	return all;
}

void gate_relays_end(struct gate_relays *all)
{
	struct relay *r, *next;

	for (r = TAILQ_FIRST(&all->list); r; r = next) {
		next = TAILQ_NEXT(r, link);
		if (!r->call)
			relay_end(r);
	}
}

void gate_relays_free(struct gate_relays *all)
{
	if (!all)
		return;
	gate_hosts_free(all->hosts);
	free(all);
}
