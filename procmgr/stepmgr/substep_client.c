/* substep_client.c - connections of programs of the job: messages in, events out.
 *
 * Called by: the event loop for bytes of clients, substep_engine.c, through the handlers, for what happens to sub-steps.
 * Invariants: a message that cannot be read ends its connection. Only the owner of the job and root are served. */
#include "procmgr/stepmgr/substep_client.h"

#include <errno.h>
#include <event2/listener.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/socket_peer.h"
#include "procmgr/stepmgr/substep_event.h"
#include "procmgr/stepmgr/substep_hold.h"
#include "procmgr/stepmgr/substep_reader.h"
#include "procmgr/stepmgr/substep_request.h"
#include "procmgr/stepmgr/substep_usage.h"

enum { LINE_MOST = 1 << 20, BYTES_MOST = 65536, OUTPUT_LOW = 256 * 1024, PAUSE_USEC = 100000 };

static struct {
	struct substep_engine *m;
	json_t *env; /* the job's environment */
	char *cwd;
	TAILQ_HEAD(, substep_connection) clients;
	int count; /* of clients */
	void (*relay)(struct bufferevent *stream);
} server;

static void client_pump(struct substep_connection *c)
{
	struct substep_reader *r, *next;
	for (r = LIST_FIRST(&c->readers); r; r = next) {
		next = LIST_NEXT(r, of_connection);
		substep_reader_pump(r);
	}
	substep_event_pump(c);
}

static void client_free(struct substep_connection *c)
{
	struct substep_reader *r;
	while ((r = LIST_FIRST(&c->readers))) {
		struct substep *s = r->substep;
		bool cancels = r->runs && s->spec && !s->spec->detach;
		substep_reader_free(r);
		if (cancels)
			substep_engine_cancel(server.m, s, "cancelled");
	}
	substep_hold_forget(c);
	substep_event_forget(c);
	substep_usage_forget(server.m, c);
	TAILQ_REMOVE(&server.clients, c, next);
	event_free(c->look);
	bufferevent_free(c->stream);
	if (c->gone)
		c->gone();
	json_decref(c->env);
	json_decref(c->message);
	free(c->cwd);
	free(c);
	substep_hold_check(--server.count);
}

static bool may_read(const struct substep_connection *c)
{
	return !c->ends && !c->is_held && substep_connection_has_room(c);
}

/* Stop reading from the client, but look once a second whether it has closed the connection: an event EV_CLOSED would not notice a reset
 * (lib/socket_peer.h). */
static void pause_reading(struct substep_connection *c)
{
	static const struct timeval second = {.tv_sec = 1};
	bufferevent_disable(c->stream, EV_READ);
	if (!event_pending(c->look, EV_TIMEOUT, NULL))
		event_add(c->look, &second);
}

/* Start to read from the client again, first the bytes that are buffered already. Messages are handled later, since the caller
 * may be handling one. */
static void resume_reading(struct substep_connection *c)
{
	if (!may_read(c) || (bufferevent_get_enabled(c->stream) & EV_READ))
		return;
	event_del(c->look);
	bufferevent_enable(c->stream, EV_READ);
	bufferevent_trigger(c->stream, EV_READ, BEV_TRIG_IGNORE_WATERMARKS | BEV_TRIG_DEFER_CALLBACKS);
}

static void input_drained(void)
{
	struct substep_connection *c;
	TAILQ_FOREACH (c, &server.clients, next) {
		c->is_held = false;
		resume_reading(c);
	}
}

static void substep_ended(struct substep *s)
{
	substep_reader_pump_all(s);
	substep_hold_check(server.count);
}

/* Answer a message that cannot be read, and end the connection: where the next message begins is not known. */
static bool refuse_line(struct substep_connection *c, const char *reason)
{
	struct err e = {.hint = ""};
	err_set(&e, "%s", reason);
	substep_connection_refuse(c, 0, &e);
	c->ends = true;
	return false;
}

/* Read one line of the client into c->message. Returns false if no whole line has come. */
static bool read_line(struct substep_connection *c, struct evbuffer *input)
{
	size_t size;
	json_error_t error;
	char *line = evbuffer_readln(input, &size, EVBUFFER_EOL_LF);
	if (!line)
		return evbuffer_get_length(input) > LINE_MOST && refuse_line(c, "a line has more than 1 MiB");
	c->message = size > LINE_MOST ? NULL : json_loadb(line, size, JSON_REJECT_DUPLICATES, &error);
	free(line);
	if (!json_is_object(c->message) || !json_is_integer(json_object_get(c->message, "id"))) {
		json_decref(c->message);
		c->message = NULL;
		return refuse_line(c, "a line is not a JSON object with an integer \"id\"");
	}
	return true;
}

/* Handle one whole message of the client. Returns false if there is none yet, or if it has to wait. */
static bool read_message(struct substep_connection *c, struct evbuffer *input)
{
	if (!c->message && !read_line(c, input))
		return false;
	json_int_t bytes = json_integer_value(json_object_get(c->message, "bytes"));
	if (bytes < 0 || bytes > BYTES_MOST) {
		json_decref(c->message);
		c->message = NULL;
		return refuse_line(c, "\"bytes\" must be from 0 to 65536");
	}
	if (evbuffer_get_length(input) < (size_t)bytes)
		return false;
	json_t *message = c->message;
	bool taken =
		substep_request_take(server.m, c, message, bytes ? evbuffer_pullup(input, bytes) : (void *)"", (size_t)bytes);
	if (!taken)
		return false;
	evbuffer_drain(input, (size_t)bytes);
	c->message = NULL;
	json_decref(message);
	return true;
}

static void client_read(struct bufferevent *stream, void *arg)
{
	struct substep_connection *c = arg;
	while (may_read(c) && read_message(c, bufferevent_get_input(stream)))
		continue;
	if (!may_read(c))
		pause_reading(c); /* stop reading: the client does not read its answers, or a task does not read its input */
}

/* Called when the client has read most of the answers that were queued for it. */
static void client_drained(struct bufferevent *stream, void *arg)
{
	struct substep_connection *c = arg;
	client_pump(c);
	if (c->ends && evbuffer_get_length(bufferevent_get_output(stream)) == 0) {
		client_free(c);
		return;
	}
	resume_reading(c);
}

static void client_gone(struct bufferevent *stream, short what, void *arg)
{
	(void)stream;
	(void)what;
	client_free(arg);
}

static void client_look(evutil_socket_t fd, short what, void *arg)
{
	struct substep_connection *c = arg;
	(void)fd;
	(void)what;
	if (socket_peer_has_closed(bufferevent_getfd(c->stream)))
		client_free(c);
}

/* Only the owner of the job, who may connect by the mode of the socket, and root are served. */
static bool is_owner(evutil_socket_t fd)
{
	struct ucred peer;
	return socket_peer_read(fd, &peer) && (peer.uid == geteuid() || peer.uid == 0);
}

static struct substep_connection *client_new(struct bufferevent *stream)
{
	struct substep_connection *c = xcalloc(1, sizeof *c);
	c->stream = stream;
	c->look = event_new(bufferevent_get_base(stream), -1, EV_PERSIST, client_look, c);
	c->env = json_incref(server.env);
	c->cwd = xstrdup(server.cwd);
	LIST_INIT(&c->readers);
	TAILQ_INSERT_TAIL(&server.clients, c, next);
	substep_hold_check(++server.count);
	bufferevent_setcb(c->stream, client_read, client_drained, client_gone, c);
	bufferevent_setwatermark(c->stream, EV_WRITE, OUTPUT_LOW, 0);
	bufferevent_setwatermark(c->stream, EV_READ, 0, LINE_MOST + BYTES_MOST + 1);
	bufferevent_enable(c->stream, EV_READ | EV_WRITE);
	return c;
}

void substep_client_take_head(struct bufferevent *stream, void (*gone)(void))
{
	struct substep_connection *c = client_new(stream);
	c->is_head = true;
	c->gone = gone;
}

static void take_client(struct bufferevent *stream)
{
	client_new(stream);
	bufferevent_trigger(stream, EV_READ, BEV_TRIG_IGNORE_WATERMARKS | BEV_TRIG_DEFER_CALLBACKS);
}

const struct substep_handlers substep_client_handlers = {
	.waits = substep_reader_waits,
	.started = substep_reader_started,
	.ended = substep_ended,
	.output = substep_reader_pump_all,
	.lags = substep_reader_lags,
	.connected = take_client,
	.drained = input_drained,
	.input = substep_reader_input,
};

static void accept_client(struct evconnlistener *listener, evutil_socket_t fd, struct sockaddr *address, int size, void *arg)
{
	(void)address;
	(void)size;
	(void)arg;
	if (!is_owner(fd)) {
		close(fd);
		return;
	}
	struct bufferevent *stream = bufferevent_socket_new(evconnlistener_get_base(listener), fd, BEV_OPT_CLOSE_ON_FREE);
	if (server.relay)
		server.relay(stream);
	else
		client_new(stream);
}

extern char **environ;

static json_t *own_environment(void)
{
	json_t *list = json_array();
	for (char **at = environ; *at; at++)
		json_array_append_new(list,
				      json_string(*at)); /* fails for a variable that is not UTF-8, which JSON cannot have */
	return list;
}

static void accept_again(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	evconnlistener_enable(arg);
}

/* Called when there is no free descriptor for the next client. The client stays in the queue of the socket, where it would wake
 * the event loop again and again, so no client is accepted for PAUSE_USEC. */
static void accept_failed(struct evconnlistener *listener, void *arg)
{
	static const struct timeval pause = {.tv_usec = PAUSE_USEC};
	(void)arg;
	evconnlistener_disable(listener);
	if (event_base_once(evconnlistener_get_base(listener), -1, EV_TIMEOUT, accept_again, listener, &pause) < 0)
		die("could not wait for a free descriptor");
}

void substep_client_serve(struct event_base *base, struct substep_engine *m, int listener,
			  void (*relay)(struct bufferevent *stream))
{
	server.m = m;
	server.relay = relay;
	server.env = own_environment();
	server.cwd = getcwd(NULL, 0);
	TAILQ_INIT(&server.clients);
	struct evconnlistener *l = evconnlistener_new(base, accept_client, NULL, LEV_OPT_CLOSE_ON_EXEC, 0, listener);
	if (!l)
		die("could not listen for programs of the job");
	evconnlistener_set_error_cb(l, accept_failed);
}
