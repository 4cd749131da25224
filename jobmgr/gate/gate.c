/* gate.c - where requests come in: sockets, connections and how many of them, the connection to the database behind.
 *
 * jobmgrd's main opens it. What always holds: a connection serves one request at a time; whoever holds SOCKET.lock serves the
 * Unix socket, and nobody else touches its file. */
#include "jobmgr/gate/gate.h"

#include <errno.h>
#include <event2/listener.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "jobmgr/gate/gate_call.h"
#include "jobmgr/gate/gate_connection.h"
#include "jobmgr/gate/gate_intake.h"
#include "jobmgr/gate/gate_listen.h"
#include "jobmgr/gate/gate_translate.h"
#include "jobmgr/gate/gate_wait.h"
#include "lib/daemon.h"
#include "lib/log.h"

enum {
	GATE_CONNECTIONS = 2000, /* at the most, or what the limit of open files leaves */
	GATE_FILES_KEPT = 100,	 /* open files for all else */
	GATE_HEADERS = 64 * 1024,
	GATE_BODIES = 4,     /* of the largest size that one user may have under way */
	GATE_TIMEOUT = 60,   /* seconds without progress in reading or writing */
	GATE_RETRY = 1,	     /* seconds between tries for the socket's lock */
	GATE_PAUSE = 100,    /* milliseconds without accepting where the kernel has no more files for us */
	GATE_DRAIN_LOOK = 10 /* milliseconds between looks whether all is done */
};

/* What reaches gate_intake.c, which takes the first two and refuses the others in JSON. */
#define GATE_METHODS                                                                                                             \
	(EVHTTP_REQ_GET | EVHTTP_REQ_POST | EVHTTP_REQ_HEAD | EVHTTP_REQ_PUT | EVHTTP_REQ_DELETE | EVHTTP_REQ_PATCH |            \
	 EVHTTP_REQ_OPTIONS)

/* One side of the gate: evhttp makes its connections' buffers through one function each. */
struct side {
	struct gate *gate;
	struct evhttp *http;
	SSL_CTX *tls; /* NULL: the Unix socket */
	struct evconnlistener *listener;
};

struct gate {
	struct gate_office office;
	struct side plain, tls;
	char *lock; /* path of the Unix socket's lock */
	bool stands_by, owns_socket;
	struct event *retry; /* for the lock */
	struct event *drain; /* looks whether all is done */
	void (*done)(void *arg);
	void *done_arg;
};

static struct bufferevent *connection_buffer(struct event_base *base, void *arg)
{
	struct side *side = arg;
	struct bufferevent *buffer = gate_tls_buffer(base, side->tls);

	if (buffer)
		gate_connection_add(side->gate->office.connections, buffer);
	return buffer;
}

static void connection_closed(struct evhttp_connection *peer, void *arg)
{
	struct gate *gate = arg;

	gate_calls_lost(&gate->office, peer);
}

static void request_came(struct evhttp_request *http, void *arg)
{
	struct gate *gate = arg;

	evhttp_connection_set_closecb(evhttp_request_get_connection(http), connection_closed, gate);
	gate_intake(&gate->office, http);
}

/* sides */

static void side_resume(evutil_socket_t fd, short what, void *listener)
{
	(void)fd;
	(void)what;
	evconnlistener_enable(listener);
}

/* accept() failed, most likely for want of files: let some connections end first. (`arg` is evhttp's.) */
static void side_failed(struct evconnlistener *listener, void *arg)
{
	struct timeval pause = {.tv_usec = GATE_PAUSE * 1000};

	(void)arg;
	log_warning("could not accept a connection: %s", strerror(errno));
	evconnlistener_disable(listener);
	event_base_once(evconnlistener_get_base(listener), -1, EV_TIMEOUT, side_resume, listener, &pause);
}

/* Serve HTTP on a listening socket, which the side owns from now on. */
static void side_open(struct side *side, struct gate *gate, int fd)
{
	struct event_base *base = gate->office.base;
	struct evhttp_bound_socket *bound;

	side->gate = gate;
	side->http = evhttp_new(base);
	if (!side->http)
		die("could not make an HTTP server");
	evhttp_set_allowed_methods(side->http, GATE_METHODS);
	evhttp_set_max_headers_size(side->http, GATE_HEADERS);
	evhttp_set_max_body_size(side->http, gate->office.conf->gate_max_body);
	evhttp_set_timeout(side->http, GATE_TIMEOUT);
	evhttp_set_bevcb(side->http, connection_buffer, side);
	evhttp_set_gencb(side->http, request_came, gate);
	bound = evhttp_accept_socket_with_handle(side->http, fd);
	if (!bound)
		die("could not serve HTTP on a socket");
	side->listener = evhttp_bound_socket_get_listener(bound);
	evconnlistener_set_error_cb(side->listener, side_failed);
}

static void side_close(struct side *side)
{
	if (side->http)
		evhttp_free(side->http);
	SSL_CTX_free(side->tls);
}

/* Take the Unix socket, if nobody else serves it. */
static bool gate_take_socket(struct gate *gate, struct err *e)
{
	const char *path = gate->office.conf->gate_socket;
	int fd;

	if (!daemon_lock(gate->lock, e)) {
		pid_t holder = daemon_holder(gate->lock);

		if (holder == 0)
			return false;
		if (!gate->stands_by)
			log_info("process %d serves \"%s\", standing by", (int)holder, path);
		gate->stands_by = true;
		return true;
	}
	fd = gate_listen_unix(path, e);
	if (fd < 0)
		return false;
	gate->stands_by = false;
	gate->owns_socket = true;
	side_open(&gate->plain, gate, fd);
	log_info("serving \"%s\"", path);
	return true;
}

static void gate_retry(evutil_socket_t fd, short what, void *arg)
{
	struct gate *gate = arg;
	struct err e;

	(void)fd;
	(void)what;
	if (!gate_take_socket(gate, &e))
		die("%s", e.message); /* to start anew is to find out who is to blame */
	if (!gate->stands_by)
		event_del(gate->retry);
}

static bool gate_open_tls(struct gate *gate, struct err *e)
{
	const struct conf *conf = gate->office.conf;
	int fd;

	if (!*conf->gate_listen)
		return true;
	gate->tls.tls = gate_tls_new(conf, e);
	if (!gate->tls.tls)
		return false;
	fd = gate_listen_tcp(conf->gate_listen, e);
	if (fd < 0)
		return false;
	side_open(&gate->tls, gate, fd);
	return true;
}

static void database_bell(void *arg)
{
	struct gate *gate = arg;

	gate_waits_notify(gate->office.waits);
}

/* What the limit of open files leaves for connections. */
static unsigned gate_bound(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) < 0 || files.rlim_cur >= GATE_CONNECTIONS + GATE_FILES_KEPT)
		return GATE_CONNECTIONS;
	return files.rlim_cur > 2 * GATE_FILES_KEPT ? (unsigned)files.rlim_cur - GATE_FILES_KEPT : GATE_FILES_KEPT;
}

struct gate *gate_open(struct event_base *base, const struct conf *conf, const struct seal_mac_key *key, struct err *e)
{
	struct timeval retry = {.tv_sec = GATE_RETRY};
	struct gate *gate = xcalloc(1, sizeof *gate);

	gate->office = (struct gate_office){.base = base, .conf = conf, .key = key};
	gate->lock = xasprintf("%s.lock", conf->gate_socket);
	gate->office.connections = gate_connections_new(base, gate_bound(), GATE_BODIES * (size_t)conf->gate_max_body);
	TAILQ_INIT(&gate->office.calls);
	gate->office.waits = gate_waits_new();
	gate->office.auth = gate_auth_new(base, conf->munge_socket);
	gate->office.lanes = gate_lanes_open(base, conf, database_bell, gate);
	gate->retry = event_new(base, -1, EV_PERSIST, gate_retry, gate);
	if (!gate_open_tls(gate, e) || !gate_take_socket(gate, e)) {
		gate_close(gate);
		return NULL;
	}
	if (gate->stands_by)
		event_add(gate->retry, &retry);
	return gate;
}

void gate_set_leader(struct gate *gate, bool leader)
{
	gate->office.leader = leader;
}

/* the end */

static void gate_look_drained(evutil_socket_t fd, short what, void *arg)
{
	struct gate *gate = arg;

	(void)fd;
	(void)what;
	if (!TAILQ_EMPTY(&gate->office.calls) || !gate_connections_flushed(gate->office.connections))
		return;
	event_del(gate->drain);
	gate->done(gate->done_arg);
}

static void gate_unlink(struct gate *gate)
{
	if (gate->owns_socket)
		unlink(gate->office.conf->gate_socket);
	gate->owns_socket = false;
}

void gate_drain(struct gate *gate, void (*done)(void *arg), void *arg)
{
	struct timeval often = {.tv_usec = GATE_DRAIN_LOOK * 1000};

	gate->office.draining = true;
	gate->done = done;
	gate->done_arg = arg;
	event_del(gate->retry);
	gate_unlink(gate);
	if (gate->plain.http)
		evconnlistener_disable(gate->plain.listener);
	if (gate->tls.http)
		evconnlistener_disable(gate->tls.listener);
	gate_waits_release(gate->office.waits);
	gate->drain = event_new(gate->office.base, -1, EV_PERSIST, gate_look_drained, gate);
	event_add(gate->drain, &often);
}

void gate_close(struct gate *gate)
{
	if (!gate)
		return;
	gate_unlink(gate);
	side_close(&gate->plain); /* calls lose their clients */
	side_close(&gate->tls);
	gate_lanes_close(gate->office.lanes); /* calls of the database end */
	gate_auth_free(gate->office.auth);
	gate_calls_free(&gate->office); /* calls that waited for munge or a notification */
	gate_waits_free(gate->office.waits);
	gate_connections_free(gate->office.connections);
	event_free(gate->retry);
	if (gate->drain)
		event_free(gate->drain);
	gate_limits_free(&gate->office);
	free(gate->lock);
	free(gate);
}
