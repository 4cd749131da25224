/* hook_call.c - the client of the hook socket (hook_call.h).
 *
 * Called by: jobmgrd.
 * Invariants:
 * - A call is written to a connection once at most: it ends with its answer, with the loss of the connection, or after its
 *   time limit.
 * - `done` is called by the event loop alone. A call that fails has its timer set to now.
 * - A request stays in the output buffer of the connection after its call has timed out. So calls to a runnerd that reads
 *   nothing fail once the buffer is full. */
#include "lib/hook_call.h"

#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "lib/text.h"

enum {
	IDLE_SECONDS = 60,
	HEAD_MOST = 128,		  /* bytes of a request before its body */
	OUTPUT_MOST = 16 * HOOK_CALL_MOST /* most bytes of requests that runnerd has not read */
};

struct hook_call {
	TAILQ_ENTRY(hook_call) next;
	struct hook_client *client;
	json_int_t id;
	hook_call_done *done;
	void *arg;
	struct event *timer;
	int seconds;
	bool has_failed; /* the call has failed: `e` has the reason, which the timer reports */
	struct err e;
};

struct hook_client {
	struct event_base *base;
	char *path;
	int seconds;
	json_int_t last_id;
	struct bufferevent *stream; /* NULL: not connected */
	struct event *idle;
	TAILQ_HEAD(, hook_call) calls; /* without an answer */
};

static void call_free(struct hook_call *call)
{
	struct hook_client *client = call->client;

	TAILQ_REMOVE(&client->calls, call, next);
	event_free(call->timer);
	free(call);
	if (TAILQ_EMPTY(&client->calls))
		event_add(client->idle, &(struct timeval){.tv_sec = IDLE_SECONDS});
}

static void call_finish(struct hook_call *call, const json_t *answer, const struct err *e)
{
	hook_call_done *done = call->done;
	struct err copy = e ? *e : (struct err){0};
	void *arg = call->arg;

	call_free(call);
	done(answer, answer ? NULL : &copy, arg);
}

static void call_fail(struct hook_call *call, const struct err *e)
{
	call->has_failed = true;
	call->e = *e;
	event_add(call->timer, &(struct timeval){0});
}

/* Timer of a call: report by `done` that the call has failed, or that its time limit has passed. */
static void call_timer(evutil_socket_t fd, short what, void *arg)
{
	struct hook_call *call = arg;

	(void)fd;
	(void)what;
	if (!call->has_failed)
		err_set(&call->e, "runnerd has not answered for %d second%s", call->seconds, text_plural(call->seconds));
	call_finish(call, NULL, &call->e);
}

static void client_disconnect(struct hook_client *client)
{
	if (client->stream)
		bufferevent_free(client->stream);
	client->stream = NULL;
}

/* Close a connection that has failed, and fail all calls that were sent on it. */
static void client_lose(struct hook_client *client, const char *why)
{
	struct hook_call *call;
	struct err e = {0};

	err_set(&e, "lost the connection to runnerd at \"%s\": %s", client->path, why);
	client_disconnect(client);
	TAILQ_FOREACH (call, &client->calls, next) {
		if (!call->has_failed)
			call_fail(call, &e);
	}
}

/* Pass an answer of runnerd to its call, which may have ended meanwhile. */
static void client_answer(struct hook_client *client, json_int_t id, const json_t *answer)
{
	const char *error = json_string_value(json_object_get(answer, "error"));
	struct hook_call *call;
	struct err e = {0};

	TAILQ_FOREACH (call, &client->calls, next) {
		if (call->id == id)
			break;
	}
	if (!call || call->has_failed)
		return;
	if (error || !json_is_integer(json_object_get(answer, "rc"))) {
		err_set(&e, "%s", error ? error : "the answer of rota-lua has no \"rc\"");
		strcpy(e.code, "RT502");
		call_finish(call, NULL, &e);
	} else {
		call_finish(call, answer, NULL);
	}
}

/* Read a line "ID ANSWER" of runnerd. Returns false if the line is malformed. */
static bool client_take(struct hook_client *client, const char *line, size_t length)
{
	char *body;
	json_int_t id = strtoll(line, &body, 10);
	json_t *answer;

	if (body == line || *body != ' ')
		return false;
	answer = json_loadb(body, length - (size_t)(body - line), JSON_ALLOW_NUL, NULL);
	client_answer(client, id, answer);
	json_decref(answer);
	return true;
}

static void client_readable(struct bufferevent *stream, void *arg)
{
	struct hook_client *client = arg;
	struct evbuffer *input = bufferevent_get_input(stream);
	size_t length;
	char *line;

	while (client->stream == stream && (line = evbuffer_readln(input, &length, EVBUFFER_EOL_LF))) {
		if (!client_take(client, line, length))
			client_lose(client, "it sent what is no answer");
		free(line);
	}
	if (client->stream == stream && evbuffer_get_length(input) > HOOK_CALL_MOST)
		client_lose(client, "it sent an answer that is too long");
}

static void client_ended(struct bufferevent *stream, short what, void *arg)
{
	(void)stream;
	client_lose(arg, what & BEV_EVENT_ERROR ? strerror(EVUTIL_SOCKET_ERROR()) : "it was closed");
}

static void client_idle(evutil_socket_t fd, short what, void *arg)
{
	struct hook_client *client = arg;

	(void)fd;
	(void)what;
	if (TAILQ_EMPTY(&client->calls))
		client_disconnect(client);
}

/* Connect to the socket `path`. A Unix socket takes a connection at once, or refuses it. Returns -1 if it was refused. */
static int socket_connect(const char *path, struct err *e)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd;

	if (strlen(path) >= sizeof address.sun_path) {
		err_set(e, "hooks.socket \"%s\" is longer than %zu bytes", path, sizeof address.sun_path - 1);
		return -1;
	}
	strcpy(address.sun_path, path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) < 0) {
		err_sys(e, "could not connect to runnerd at \"%s\"", path);
		if (fd >= 0)
			close(fd);
		return -1;
	}
	return fd;
}

/* Connect, unless the client is connected. */
static bool client_connect(struct hook_client *client, struct err *e)
{
	int fd;

	if (client->stream)
		return true;
	fd = socket_connect(client->path, e);
	if (fd < 0)
		return false;
	client->stream = bufferevent_socket_new(client->base, fd, BEV_OPT_CLOSE_ON_FREE);
	if (!client->stream)
		die("out of memory");
	bufferevent_setcb(client->stream, client_readable, NULL, client_ended, client);
	bufferevent_enable(client->stream, EV_READ | EV_WRITE);
	return true;
}

bool hook_call_listens(const char *path)
{
	struct err e;
	int fd = socket_connect(path, &e);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

struct hook_client *hook_client_new(struct event_base *base, const char *path, int seconds)
{
	struct hook_client *client = xcalloc(1, sizeof *client);

	client->base = base;
	client->path = xstrdup(path);
	client->seconds = seconds;
	client->idle = evtimer_new(base, client_idle, client);
	TAILQ_INIT(&client->calls);
	return client;
}

void hook_client_free(struct hook_client *client)
{
	if (!client)
		return;
	while (!TAILQ_EMPTY(&client->calls))
		hook_call_cancel(TAILQ_FIRST(&client->calls));
	client_disconnect(client);
	event_free(client->idle);
	free(client->path);
	free(client);
}

/* Write a request with the id of the call to the connection. */
static bool call_send(const struct hook_call *call, const struct hook_request *request, struct err *e)
{
	struct evbuffer *output = bufferevent_get_output(call->client->stream);
	size_t length = strlen(request->body);

	if (length > HOOK_CALL_MOST - HEAD_MOST)
		return err_set(e, "the request to runnerd has %zu bytes, more than %d", length, HOOK_CALL_MOST - HEAD_MOST);
	if (evbuffer_get_length(output) > OUTPUT_MOST)
		return err_set(e, "runnerd at \"%s\" reads no requests", call->client->path);
	evbuffer_add_printf(output, "%lld %s %s ", (long long)call->id, request->script, request->function);
	evbuffer_add(output, request->body, length);
	evbuffer_add(output, "\n", 1);
	return true;
}

struct hook_call *hook_call(struct hook_client *client, const struct hook_request *request, hook_call_done *done, void *arg)
{
	struct hook_call *call = xcalloc(1, sizeof *call);
	struct err e = {0};

	call->client = client;
	call->id = ++client->last_id;
	call->done = done;
	call->seconds = request->seconds ? request->seconds : client->seconds;
	call->arg = arg;
	call->timer = evtimer_new(client->base, call_timer, call);
	TAILQ_INSERT_TAIL(&client->calls, call, next);
	event_del(client->idle);
	if (client_connect(client, &e) && call_send(call, request, &e))
		event_add(call->timer, &(struct timeval){.tv_sec = call->seconds});
	else
		call_fail(call, &e);
	return call;
}

void hook_call_cancel(struct hook_call *call)
{
	if (call->client->stream && !call->has_failed)
		evbuffer_add_printf(bufferevent_get_output(call->client->stream), "%lld cancel\n", (long long)call->id);
	call_free(call);
}
