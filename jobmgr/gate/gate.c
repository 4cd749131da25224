/* gate.c - the HTTP API of jobmgrd: listening sockets, the start, the orderly shutdown.
 *
 * The folder jobmgr/gate and the prefix gate_ mean this API; section [gate] of rota.conf configures it.
 * Called by: bin/jobmgrd.c.
 * Invariants:
 * - A connection serves one request at a time.
 * - The owner of SOCKET.lock serves the Unix socket; no other process touches the socket's file. */
#include "jobmgr/gate/gate.h"

#include <errno.h>
#include <event2/listener.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "jobmgr/gate/gate_call.h"
#include "jobmgr/gate/gate_certificate.h"
#include "jobmgr/gate/gate_connection.h"
#include "jobmgr/gate/gate_dispatch.h"
#include "jobmgr/gate/gate_hook_status.h"
#include "jobmgr/gate/gate_listen.h"
#include "jobmgr/gate/gate_numbers.h"
#include "jobmgr/gate/gate_relay.h"
#include "jobmgr/gate/gate_translate.h"
#include "jobmgr/gate/gate_wait.h"
#include "lib/daemon.h"
#include "lib/hook_call.h"
#include "lib/log.h"

enum {
	GATE_CONNECTIONS = 2000,   /* most connections at once; fewer if the limit of open files is low */
	GATE_FILES_RESERVED = 100, /* number of open files that are kept free for other uses than connections */
	GATE_HEADERS = 64 * 1024,  /* most bytes of the headers of a request */
	GATE_BODIES = 4,	   /* number of request bodies of the largest size that one client may have under way at once */
	GATE_TIMEOUT = 60,	   /* seconds without progress in reading or writing */
	GATE_RETRY = 1,		   /* seconds between tries for the socket's lock */
	GATE_PAUSE = 100,	   /* milliseconds without accepting after accept() failed */
	GATE_FULL = 1, /* milliseconds between checks whether refused connections are closed, so that others are accepted */
	GATE_DRAIN_POLL = 10,  /* milliseconds between checks whether all requests have ended */
	GATE_HOOK_TIMEOUT = 30 /* seconds, besides hooks.call_seconds, that a question to the site's script may wait in runnerd */
};

/* HTTP methods that evhttp passes on. gate_dispatch.c accepts GET and POST, and refuses the others with an error in JSON. */
#define GATE_METHODS                                                                                                             \
	(EVHTTP_REQ_GET | EVHTTP_REQ_POST | EVHTTP_REQ_HEAD | EVHTTP_REQ_PUT | EVHTTP_REQ_DELETE | EVHTTP_REQ_PATCH |            \
	 EVHTTP_REQ_OPTIONS)

/* A listening socket with its HTTP server: evhttp has one function per server that makes the buffers of connections. */
struct gate_listener {
	struct gate *gate;
	struct evhttp *http;
	struct gate_certificate *certificate; /* certificate of HTTPS; NULL: the listener serves the Unix socket */
	struct evconnlistener *listener;
};

struct gate {
	struct gate_server server;
	struct gate_listener plain, tls;
	const char *name;
	char *lock;	     /* path of the Unix socket's lock */
	bool is_standby;     /* another process serves the Unix socket */
	bool owns_socket;    /* this process serves the Unix socket and removes its file at the end */
	struct event *retry; /* timer that tries again to take the Unix socket's lock */
	struct event *drain; /* timer that checks whether all requests have ended */
	void (*done)(void *arg);
	void *done_arg;
};

static void gate_lose_connection(struct evhttp_connection *peer, void *arg)
{
	struct gate *gate = arg;

	gate_calls_lost(&gate->server, peer);
}

static void gate_take_request(struct evhttp_request *http, void *arg)
{
	struct gate *gate = arg;

	evhttp_connection_set_closecb(evhttp_request_get_connection(http), gate_lose_connection, gate);
	gate_dispatch(&gate->server, http);
}

/* Listening sockets. */

static void listener_resume(evutil_socket_t fd, short what, void *listener)
{
	(void)fd;
	(void)what;
	evconnlistener_enable(listener);
}

/* accept() failed, most likely because no file descriptor is free: pause until some connections have ended. */
static void listener_pause(struct evconnlistener *listener, void *arg)
{
	struct timeval pause = {.tv_usec = GATE_PAUSE * 1000};

	(void)arg; /* `arg` is evhttp's */
	log_warning("HTTP API: could not accept a connection: %s; trying again in %d ms", strerror(errno), GATE_PAUSE);
	evconnlistener_disable(listener);
	event_base_once(evconnlistener_get_base(listener), -1, EV_TIMEOUT, listener_resume, listener, &pause);
}

static void listener_wait_for_room(struct gate_listener *l);

static void listener_look_for_room(evutil_socket_t fd, short what, void *arg)
{
	struct gate_listener *l = arg;

	(void)fd;
	(void)what;
	if (l->gate->server.draining)
		return;
	gate_connections_remove_ended(l->gate->server.connections);
	if (gate_connections_are_full(l->gate->server.connections, l->certificate != NULL))
		listener_wait_for_room(l);
	else
		evconnlistener_enable(l->listener);
}

/* Accept connections again as soon as refused connections have been closed. Until then, clients wait in the kernel's queue of
 * the socket, and open files are left for munge and the database. */
static void listener_wait_for_room(struct gate_listener *l)
{
	struct timeval pause = {.tv_usec = GATE_FULL * 1000};

	event_base_once(l->gate->server.base, -1, EV_TIMEOUT, listener_look_for_room, l, &pause);
}

static struct bufferevent *gate_make_buffer(struct event_base *base, void *arg)
{
	struct gate_listener *l = arg;
	SSL_CTX *tls = l->certificate ? gate_certificate_context(l->certificate) : NULL;
	struct bufferevent *buffer = gate_listen_new_buffer(base, tls);

	if (buffer)
		gate_connection_add(l->gate->server.connections, buffer, tls);
	if (gate_connections_are_full(l->gate->server.connections, l->certificate != NULL)) {
		evconnlistener_disable(l->listener);
		listener_wait_for_room(l);
	}
	return buffer;
}

/* Serve HTTP on a listening socket, which the listener owns from now on. */
static void listener_open(struct gate_listener *l, struct gate *gate, int fd)
{
	struct event_base *base = gate->server.base;
	struct evhttp_bound_socket *bound;

	l->gate = gate;
	l->http = evhttp_new(base);
	if (!l->http)
		die("HTTP API: could not make an HTTP server");
	evhttp_set_allowed_methods(l->http, GATE_METHODS);
	evhttp_set_max_headers_size(l->http, GATE_HEADERS);
	evhttp_set_max_body_size(l->http, gate->server.conf->gate_max_body);
	evhttp_set_timeout(l->http, GATE_TIMEOUT);
	evhttp_set_bevcb(l->http, gate_make_buffer, l);
	evhttp_set_gencb(l->http, gate_take_request, gate);
	bound = evhttp_accept_socket_with_handle(l->http, fd);
	if (!bound)
		die("HTTP API: could not serve a listening socket");
	l->listener = evhttp_bound_socket_get_listener(bound);
	evconnlistener_set_error_cb(l->listener, listener_pause);
}

static void listener_close(struct gate_listener *l)
{
	if (l->http)
		evhttp_free(l->http);
}

/* Serve the Unix socket, unless another process serves it. */
static bool gate_take_socket(struct gate *gate, struct err *e)
{
	const char *path = gate->server.conf->gate_socket;
	int fd;

	if (!daemon_lock(gate->lock, e)) {
		pid_t owner = daemon_holder(gate->lock);

		if (owner == 0)
			return false;
		if (!gate->is_standby)
			log_info("another jobmgrd (process %d) serves \"%s\"; this one waits as its standby", (int)owner, path);
		gate->is_standby = true;
		return true;
	}
	fd = gate_listen_unix(path, e);
	if (fd < 0)
		return false;
	gate->is_standby = false;
	gate->owns_socket = true;
	listener_open(&gate->plain, gate, fd);
	log_info("serving \"%s\"", path);
	return true;
}

static void gate_retry_socket(evutil_socket_t fd, short what, void *arg)
{
	struct gate *gate = arg;
	struct err e;

	(void)fd;
	(void)what;
	if (!gate_take_socket(gate, &e))
		die("%s", e.message); /* the next start reports the cause */
	if (!gate->is_standby)
		event_del(gate->retry);
}

static bool gate_open_tls(struct gate *gate, struct err *e)
{
	const struct conf *conf = gate->server.conf;
	int fd;

	if (!*conf->gate_listen)
		return true;
	gate->server.admin = gate_admin_new(conf, e);
	if (!gate->server.admin)
		return false;
	gate->tls.certificate =
		gate_certificate_new(gate->server.base, conf, gate->server.admin, gate->server.sessions, gate->name, e);
	if (!gate->tls.certificate)
		return false;
	fd = gate_listen_tcp(conf->gate_listen, e);
	if (fd < 0)
		return false;
	listener_open(&gate->tls, gate, fd);
	return true;
}

static void gate_take_notification(void *arg)
{
	struct gate *gate = arg;

	gate_waits_notify(gate->server.waits);
}

/* Returns the number of connections that the limit of open files allows. */
static unsigned gate_read_bound(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) < 0 || files.rlim_cur >= GATE_CONNECTIONS + GATE_FILES_RESERVED)
		return GATE_CONNECTIONS;
	return files.rlim_cur > 2 * GATE_FILES_RESERVED ? (unsigned)files.rlim_cur - GATE_FILES_RESERVED : GATE_FILES_RESERVED;
}

struct gate *gate_open(struct event_base *base, const struct conf *conf, const char *name, const struct seal_mac_key *key,
		       const struct seal_sign_key *sign_key, struct err *e)
{
	struct timeval retry = {.tv_sec = GATE_RETRY};
	struct gate *gate = xcalloc(1, sizeof *gate);

	gate->server = (struct gate_server){.base = base, .conf = conf, .key = key, .sign_key = sign_key};
	gate->name = name;
	gate->lock = xasprintf("%s.lock", conf->gate_socket);
	gate->server.connections = gate_connections_new(base, conf, gate_read_bound(), GATE_BODIES * (size_t)conf->gate_max_body);
	TAILQ_INIT(&gate->server.calls);
	gate->server.waits = gate_waits_new();
	gate->server.auth = gate_auth_new(base, conf);
	gate->server.admissions = gate_admissions_new();
	gate->server.numbers = gate_numbers_new();
	if (conf_has_scripts(conf))
		gate->server.hooks = hook_client_new(base, conf->hooks_socket, conf->hooks_call_seconds + GATE_HOOK_TIMEOUT);
	gate->server.listener = gate_listen_session_open(base, conf, gate_take_notification, gate);
	gate->server.sessions = gate_sessions_open(base, conf, GATE_SESSION_LOCAL);
	gate->server.remote_sessions = *conf->gate_listen ? gate_sessions_open(base, conf, GATE_SESSION_REMOTE) : NULL;
	gate->server.admin_sessions = gate_sessions_open(base, conf, GATE_SESSION_ADMIN);
	gate->server.stale_sessions = gate_sessions_open(base, conf, GATE_SESSION_STALE);
	gate->server.remote_stale_sessions =
		*conf->gate_listen ? gate_sessions_open(base, conf, GATE_SESSION_REMOTE_STALE) : NULL;
	gate->retry = event_new(base, -1, EV_PERSIST, gate_retry_socket, gate);
	gate->server.relays = gate_relays_new(&gate->server, e);
	if (!gate->server.relays || !gate_open_tls(gate, e) || !gate_take_socket(gate, e)) {
		gate_close(gate);
		return NULL;
	}
	if (gate->is_standby)
		event_add(gate->retry, &retry);
	return gate;
}

void gate_set_leader(struct gate *gate, bool leader)
{
	gate->server.leader = leader;
}

/* Shutdown of the HTTP API. */

static void gate_poll_drained(evutil_socket_t fd, short what, void *arg)
{
	struct gate *gate = arg;

	(void)fd;
	(void)what;
	if (!TAILQ_EMPTY(&gate->server.calls) || !gate_connections_flushed(gate->server.connections))
		return;
	event_del(gate->drain);
	gate->done(gate->done_arg);
}

static void gate_unlink_socket(struct gate *gate)
{
	if (gate->owns_socket)
		unlink(gate->server.conf->gate_socket);
	gate->owns_socket = false;
}

void gate_drain(struct gate *gate, void (*done)(void *arg), void *arg)
{
	struct timeval often = {.tv_usec = GATE_DRAIN_POLL * 1000};

	gate->server.draining = true;
	gate->done = done;
	gate->done_arg = arg;
	event_del(gate->retry);
	gate_unlink_socket(gate);
	if (gate->plain.http)
		evconnlistener_disable(gate->plain.listener);
	if (gate->tls.http)
		evconnlistener_disable(gate->tls.listener);
	gate_waits_release(gate->server.waits);
	gate_hook_status_end(&gate->server);
	gate_relays_end(gate->server.relays);
	gate->drain = event_new(gate->server.base, -1, EV_PERSIST, gate_poll_drained, gate);
	event_add(gate->drain, &often);
}

void gate_close(struct gate *gate)
{
	if (!gate)
		return;
	gate_unlink_socket(gate);
	listener_close(&gate->plain); /* closing the listeners leaves all requests without a client */
	listener_close(&gate->tls);
	gate_listen_session_close(gate->server.listener);
	gate_sessions_close(gate->server.admin_sessions);
	gate_sessions_close(gate->server.remote_sessions);
	gate_sessions_close(gate->server.stale_sessions);
	gate_sessions_close(gate->server.remote_stale_sessions);
	gate_sessions_close(gate->server.sessions); /* closing the sessions ends requests with a query under way */
	gate_certificate_free(gate->tls.certificate);
	gate_auth_free(gate->server.auth);
	if (gate->server.hooks)
		hook_client_free(gate->server.hooks);
	gate_calls_free(
		&gate->server); /* frees the requests that wait for munge, the site's script, a session or a notification */
	gate_waits_free(gate->server.waits);
	gate_relays_free(gate->server.relays);
	gate_connections_free(gate->server.connections);
	gate_admin_free(gate->server.admin);
	gate_admissions_free(gate->server.admissions);
	gate_numbers_free(gate->server.numbers);
	event_free(gate->retry);
	if (gate->drain)
		event_free(gate->drain);
	gate_translate_free_limits(&gate->server);
	free(gate->lock);
	free(gate);
}
