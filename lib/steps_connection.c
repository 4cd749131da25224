/* steps_connection.c - makes the connection to a step manager, makes it again after a loss, reads and writes it.
 *
 * Called by: programs that use rota.h, to wait for events; steps_ask.c and rota_steps.c, to send requests.
 * Invariants: on a new connection, all requests without an answer are sent again. The step manager recognises a sub-step by
 * its key, so none runs twice. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "lib/steps_inside.h"

enum { RECONNECT_MS = 10000, RECONNECT_PAUSE_MS = 50, RECONNECTS_MOST = 5 };

static long long steps_now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

/* Handle all messages that have arrived. Returns false after a message that cannot be parsed. */
static bool steps_take_all(struct rota_steps *s)
{
	for (;;) {
		const char *bytes;
		json_t *message;
		size_t size;
		bool good;

		switch (steps_link_take(&s->link, &message, &bytes, &size)) {
		case STEPS_NONE:
			return true;
		case STEPS_BROKEN:
			s->dead = true;
			return steps_fail(s, "the step manager sent a message that cannot be read");
		case STEPS_MESSAGE:
			s->reconnects = 0;
			good = steps_event_handle(s, message, bytes, size);
			json_decref(message);
			if (!good) {
				s->dead = true;
				return false;
			}
		}
	}
}

void steps_add_line(struct rota_steps *s, const char *text)
{
	if (s->link.fd < 0)
		return;
	steps_link_add(&s->link, text, strlen(text));
	steps_link_add(&s->link, "\n", 1);
}

void steps_add_input(struct rota_steps *s, const struct steps_request *r, const char *member)
{
	char text[192];
	int size = snprintf(text, sizeof(text), "{\"op\":\"input\",\"id\":%lld,\"run\":%lld,%s", ++s->last_id, r->id, member);

	/* From the offset, a restarted step manager learns which bytes it did not receive. A step manager of an older version
	 * does not accept an offset. */
	if (s->has_reconnected && !r->attaches)
		size += snprintf(text + size, sizeof(text) - (size_t)size, ",\"offset\":%lld", r->input_at);
	snprintf(text + size, sizeof(text) - (size_t)size, "}");
	steps_add_line(s, text);
}

/* Send all requests without an answer on a new connection. By their keys, the step manager recognises sub-steps that it already
 * has. */
static void steps_send_again(struct rota_steps *s)
{
	if (s->defaults)
		steps_add_line(s, s->defaults);
	for (struct steps_request *r = s->first; r; r = r->next) {
		for (size_t i = 0; i < r->stream_count; i++)
			r->streams[i].at = 0;
		steps_add_line(s, r->text);
		if (r->input_ended)
			steps_add_input(s, r, "\"eof\":true");
	}
	if (s->question)
		steps_add_line(s, s->question->text);
}

/* The connection is broken. Connect again if any request has no answer yet. Returns false if that fails. */
static bool steps_reconnect(struct rota_steps *s)
{
	long long until = steps_now_ms() + RECONNECT_MS;

	steps_link_close(&s->link);
	if (!s->unfinished && !s->question)
		return true;
	if (!s->path || s->reconnects++ >= RECONNECTS_MOST) {
		s->dead = true;
		return steps_fail(s, "the step manager has closed the connection");
	}
	while ((s->link.fd = steps_link_connect(s->path)) < 0) {
		if (steps_now_ms() >= until) {
			s->dead = true;
			return steps_fail(s, "could not connect to the step manager at \"%s\" again: %s", s->path,
					  steps_link_error());
		}
		poll(NULL, 0, RECONNECT_PAUSE_MS);
	}
	s->has_reconnected = true;
	steps_send_again(s);
	return true;
}

bool steps_is_open(struct rota_steps *s)
{
	if (s->dead)
		return false;
	if (s->link.fd >= 0)
		return true;
	s->link.fd = s->path ? steps_link_connect(s->path) : -1;
	if (s->link.fd < 0)
		return steps_fail(s, "could not connect to the step manager: %s",
				  s->path ? steps_link_error() : strerror(ENOTCONN));
	steps_send_again(s);
	return true;
}

static struct rota_steps *steps_new(const char *path, int fd)
{
	struct rota_steps *s = memset(steps_alloc(NULL, sizeof(*s)), 0, sizeof(*s));

	s->path = path ? steps_copy(path) : NULL;
	s->link.fd = fd;
	if (getrandom(&s->random, sizeof(s->random), 0) != sizeof(s->random))
		s->random = (unsigned long long)steps_now_ms();
	return s;
}

struct rota_steps *rota_steps_connect(const char *path, char *error, size_t size)
{
	int fd;

	if (!path)
		path = getenv("ROTA_STEP_SOCKET");
	if (!path || !*path) {
		snprintf(error, size, "ROTA_STEP_SOCKET is not set: this is not inside a job");
		return NULL;
	}
	fd = steps_link_connect(path);
	if (fd < 0) {
		snprintf(error, size, "could not connect to the step manager at \"%s\": %s", path, steps_link_error());
		return NULL;
	}
	return steps_new(path, fd);
}

struct rota_steps *rota_steps_adopt(int descriptor)
{
	return steps_new(NULL, descriptor);
}

void rota_steps_disconnect(struct rota_steps *s)
{
	struct steps_request *r = s->first;

	while (r) {
		struct steps_request *next = r->next;

		steps_request_free(r);
		r = next;
	}
	steps_link_close(&s->link);
	free(s->link.in.bytes);
	free(s->link.out.bytes);
	json_decref(s->answer);
	free(s->defaults);
	free(s->path);
	free(s);
}

const char *rota_steps_error(const struct rota_steps *s)
{
	return s->error;
}

size_t rota_steps_unfinished(const struct rota_steps *s)
{
	return s->unfinished;
}

size_t rota_steps_unsent(const struct rota_steps *s)
{
	return s->link.out.to - s->link.out.from;
}

int rota_steps_descriptor(const struct rota_steps *s)
{
	return s->link.fd;
}

short rota_steps_events(const struct rota_steps *s)
{
	return (short)(POLLIN | (rota_steps_unsent(s) ? POLLOUT : 0));
}

bool rota_steps_handle(struct rota_steps *s)
{
	bool good, open;

	if (s->dead)
		return false;
	if (s->link.fd < 0)
		return true;
	good = steps_link_write(&s->link);
	open = steps_link_read(&s->link); /* read even after a failed write: the step manager may have sent an error message */
	if (!steps_take_all(s))
		return false;
	if (good && open)
		return true;
	return steps_reconnect(s);
}

bool rota_steps_poll(struct rota_steps *s, int milliseconds)
{
	struct pollfd ready = {.fd = s->link.fd};

	if (s->dead)
		return false;
	if (s->link.fd >= 0 && !steps_link_write(&s->link))
		return rota_steps_handle(s);
	ready.events = rota_steps_events(s);
	if (poll(&ready, 1, milliseconds) <= 0)
		return true;
	return rota_steps_handle(s);
}

bool rota_steps_wait(struct rota_steps *s)
{
	while (s->unfinished)
		if (!rota_steps_poll(s, -1))
			return false;
	return true;
}

bool rota_steps_flush(struct rota_steps *s)
{
	while (!s->dead && rota_steps_unsent(s)) {
		if (!steps_link_write(&s->link))
			rota_steps_handle(s);
		else if (rota_steps_unsent(s))
			rota_steps_poll(s, -1);
	}
	return !s->dead;
}
