/* script_socket.c - accepts connections of jobmgrd, and passes on their requests: slurm_bb_get_status to a process of its own,
 * all others to workers (script_socket.h).
 *
 * Called by: runner.c.
 * Invariants:
 * - runnerd serves only the accounts of jobmgrd and of runnerd, and root. The kernel reports the account of each client.
 * - runnerd parses only the first words of a request. The rest, which describes a job, is parsed by rota-lua.
 * - Each request gets exactly one answer with its id, unless its connection ends first. A line "ID cancel" gets none.
 * - runnerd stops reading from a client that has many unanswered requests or does not read its answers, so the client cannot fill
 *   the memory.
 * - The hook socket needs neither the database nor a term of leadership. */
#include "runner/script_socket.h"

#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/listener.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "lib/daemon.h"
#include "lib/err.h"
#include "lib/hook_call.h"
#include "lib/log.h"
#include "lib/socket_peer.h"
#include "runner/script_status.h"
#include "runner/script_worker.h"

enum {
	BACKLOG = 64,
	RETRY = 1,	       /* seconds between two attempts to listen */
	PENDING_MOST = 1000,   /* most requests of one connection that are not answered yet */
	OUTPUT_MOST = 4 << 20, /* most bytes of answers that a client has not read */
	CONNECTIONS_MOST = 256,
	ID_DIGITS_MOST = 19
};

/* Beginning of the requests that go to script_status.c, not to a worker. */
static const char status[] = "burst_buffer slurm_bb_get_status ";
enum { STATUS_LENGTH = sizeof status - 1 };

struct script_connection {
	TAILQ_ENTRY(script_connection) next;
	struct script_socket *socket;
	struct bufferevent *stream;
	LIST_HEAD(, script_request) requests; /* requests without an answer */
	int pending;
	bool is_reading; /* connection_serve() is running, so it must not be called again */
};

/* A request that is passed on and not answered yet. */
struct script_request {
	LIST_ENTRY(script_request) next;
	struct script_connection *connection; /* NULL: the connection has ended */
	uint64_t id;
	bool is_status; /* script_status.c answers the request, not a worker */
};

struct script_socket {
	struct event_base *base;
	const struct conf *conf;
	char *lock, *complaint; /* lock: path of the lock file; complaint: last reason why the socket cannot be listened on */
	bool has_lock;
	struct event *retry;
	struct evconnlistener *listener; /* listener of the socket; NULL: not listening yet */
	struct script_workers *workers;
	struct script_statuses *statuses;
	TAILQ_HEAD(, script_connection) connections;
	int count;
};

static void connection_serve(struct script_connection *c);

/* The answer of a request is not wanted any more: kill its function if it has a process of its own. A worker has a time limit, so
 * its function is not killed. */
static void request_cancel(struct script_socket *s, struct script_request *r)
{
	if (r->is_status)
		script_status_cancel(s->statuses, r);
}

static void connection_close(struct script_connection *c)
{
	struct script_request *r;

	while ((r = LIST_FIRST(&c->requests))) {
		LIST_REMOVE(r, next);
		r->connection = NULL;
		request_cancel(c->socket, r);
	}
	TAILQ_REMOVE(&c->socket->connections, c, next);
	c->socket->count--;
	bufferevent_free(c->stream);
	free(c);
}

/* Callback of a request: send the answer to its connection, if that is still open, and free the request. */
static void request_done(const char *answer, void *arg)
{
	struct script_request *r = arg;
	struct script_connection *c = r->connection;

	if (c) {
		struct evbuffer *output = bufferevent_get_output(c->stream);

		LIST_REMOVE(r, next);
		c->pending--;
		evbuffer_add_printf(output, "%" PRIu64 " ", r->id);
		evbuffer_add(output, answer, strlen(answer));
		evbuffer_add(output, "\n", 1);
	}
	free(r);
	if (c)
		connection_serve(c);
}

static void connection_cancel(struct script_connection *c, uint64_t id)
{
	struct script_request *r;

	LIST_FOREACH (r, &c->requests, next) {
		if (r->id == id) {
			request_cancel(c->socket, r);
			return;
		}
	}
}

/* Pass on a request, "SCRIPT FUNCTION BODY". */
static void connection_pass(struct script_connection *c, uint64_t id, const char *request, size_t length)
{
	struct script_request *r = xcalloc(1, sizeof *r);

	*r = (struct script_request){
		.connection = c, .id = id, .is_status = length > STATUS_LENGTH && memcmp(request, status, STATUS_LENGTH) == 0};
	LIST_INSERT_HEAD(&c->requests, r, next);
	c->pending++;
	if (r->is_status)
		script_status_request(c->socket->statuses, request + STATUS_LENGTH, length - STATUS_LENGTH, request_done, r);
	else
		script_worker_request(c->socket->workers, request, length, request_done, r);
}

/* Handle one line of a client, NUL-terminated. Returns false if the line has no id. */
static bool connection_take(struct script_connection *c, const char *line, size_t length)
{
	size_t digits = strspn(line, "0123456789");
	uint64_t id = strtoull(line, NULL, 10);
	const char *request = line + digits + 1;

	if (digits == 0 || digits > ID_DIGITS_MOST || line[digits] != ' ')
		return false;
	if (strcmp(request, "cancel") == 0)
		connection_cancel(c, id);
	else
		connection_pass(c, id, request, length - digits - 1);
	return true;
}

static bool connection_is_full(const struct script_connection *c)
{
	return c->pending >= PENDING_MOST || evbuffer_get_length(bufferevent_get_output(c->stream)) >= OUTPUT_MOST;
}

/* Handle the lines that have arrived, while the connection may have more requests and answers. A line that is too long, or is no
 * request, ends the connection. */
static void connection_serve(struct script_connection *c)
{
	struct evbuffer *input = bufferevent_get_input(c->stream);
	bool good = true;
	size_t length;
	char *line;

	if (c->is_reading)
		return;
	c->is_reading = true;
	while (good && !connection_is_full(c) && (line = evbuffer_readln(input, &length, EVBUFFER_EOL_LF))) {
		good = connection_take(c, line, length);
		free(line);
	}
	c->is_reading = false;
	if (!good) {
		log_warning("hook socket: a line does not begin with the id of a request; its connection is closed");
		connection_close(c);
	} else if (connection_is_full(c)) {
		bufferevent_disable(c->stream, EV_READ);
	} else if (evbuffer_get_length(input) > HOOK_CALL_MOST) {
		log_warning("hook socket: a request is longer than %d bytes; its connection is closed", HOOK_CALL_MOST);
		connection_close(c);
	} else {
		bufferevent_enable(c->stream, EV_READ);
	}
}

/* Callback of the connection: requests have arrived, or the client has read answers. */
static void connection_ready(struct bufferevent *stream, void *arg)
{
	(void)stream;
	connection_serve(arg);
}

static void connection_ended(struct bufferevent *stream, short what, void *arg)
{
	(void)stream;
	(void)what;
	connection_close(arg);
}

/* Returns true if the account of the process at the other end may use the hook socket. */
static bool connection_is_allowed(const struct conf *conf, int fd)
{
	const struct passwd *account = *conf->instance_account ? getpwnam(conf->instance_account) : NULL;
	struct ucred peer;

	if (!socket_peer_read(fd, &peer))
		return false;
	if (peer.uid == 0 || peer.uid == geteuid() || (account && peer.uid == account->pw_uid))
		return true;
	log_warning("hook socket: refused process %d of uid %ld", (int)peer.pid, (long)peer.uid);
	return false;
}

static void socket_accepted(struct evconnlistener *listener, evutil_socket_t fd, struct sockaddr *address, int length, void *arg)
{
	struct script_socket *s = arg;
	struct script_connection *c;

	(void)listener;
	(void)address;
	(void)length;
	if (s->count >= CONNECTIONS_MOST || !connection_is_allowed(s->conf, fd)) {
		close(fd);
		return;
	}
	c = xcalloc(1, sizeof *c);
	c->socket = s;
	c->stream = bufferevent_socket_new(s->base, fd, BEV_OPT_CLOSE_ON_FREE);
	if (!c->stream)
		die("out of memory");
	TAILQ_INSERT_TAIL(&s->connections, c, next);
	s->count++;
	bufferevent_setcb(c->stream, connection_ready, connection_ready, connection_ended, c);
	bufferevent_setwatermark(c->stream, EV_READ, 0, HOOK_CALL_MOST + 1);
	bufferevent_setwatermark(c->stream, EV_WRITE, OUTPUT_MOST / 2, 0);
	bufferevent_enable(c->stream, EV_READ | EV_WRITE);
}

/* Make the listening socket. The caller has the lock, so an existing socket file is left from an earlier runnerd, and is
 * replaced. */
static int socket_bind(const char *path, struct err *e)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct stat found;
	int fd;

	if (strlen(path) >= sizeof address.sun_path) {
		err_set(e, "hooks.socket \"%s\" is longer than %zu bytes", path, sizeof address.sun_path - 1);
		return -1;
	}
	strcpy(address.sun_path, path);
	if (lstat(path, &found) == 0 && S_ISSOCK(found.st_mode))
		unlink(path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address) < 0 || chmod(path, 0666) < 0 ||
	    listen(fd, BACKLOG) < 0) {
		err_sys(e, "could not listen at hooks.socket \"%s\"", path);
		if (fd >= 0)
			close(fd);
		return -1;
	}
	return fd;
}

static void socket_listen(evutil_socket_t ignored, short what, void *arg)
{
	struct script_socket *s = arg;
	struct err e;
	int fd;

	(void)ignored;
	(void)what;
	s->has_lock = s->has_lock || daemon_lock(s->lock, &e);
	fd = s->has_lock ? socket_bind(s->conf->hooks_socket, &e) : -1;
	if (fd < 0) {
		if (!s->complaint || strcmp(s->complaint, e.message) != 0)
			log_warning("not serving site hooks yet: %s", e.message);
		free(s->complaint);
		s->complaint = xstrdup(e.message);
		event_add(s->retry, &(struct timeval){.tv_sec = RETRY});
		return;
	}
	s->listener = evconnlistener_new(s->base, socket_accepted, s, LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC, 0, fd);
	if (!s->listener)
		die("out of memory");
	log_info("serving site hooks at \"%s\"", s->conf->hooks_socket);
}

struct script_socket *script_socket_open(struct event_base *base, const struct conf *conf)
{
	struct script_socket *s;

	if (!conf_has_scripts(conf))
		return NULL;
	s = xcalloc(1, sizeof *s);
	s->base = base;
	s->conf = conf;
	s->lock = xasprintf("%s.lock", conf->hooks_socket);
	s->retry = evtimer_new(base, socket_listen, s);
	s->workers = script_workers_new(base, conf);
	s->statuses = script_statuses_new(base, conf);
	TAILQ_INIT(&s->connections);
	socket_listen(-1, 0, s);
	return s;
}

void script_socket_close(struct script_socket *s)
{
	struct script_connection *c;

	if (!s)
		return;
	while ((c = TAILQ_FIRST(&s->connections)))
		connection_close(c);
	if (s->listener) {
		evconnlistener_free(s->listener);
		unlink(s->conf->hooks_socket);
	}
	script_workers_free(s->workers);
	script_statuses_free(s->statuses);
	event_free(s->retry);
	free(s->lock);
	free(s->complaint);
	free(s);
}

bool script_socket_reap(struct script_socket *s, pid_t pid)
{
	return s && (script_worker_reap(s->workers, pid) || script_status_reap(s->statuses, pid));
}
