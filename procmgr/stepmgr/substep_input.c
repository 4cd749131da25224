/* substep_input.c - standard input of tasks.
 *
 * Called by: substep_request.c for input that a client sends, substep_engine.c when tasks start and end and when an agent has
 * taken input, the event loop when a pipe has room.
 * Invariants: each task gets all bytes, in order. A task that does not read delays its client, and nobody else. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "procmgr/stepmgr/substep_feed.h"
#include "lib/file.h"
#include "procmgr/stepmgr/substep_parts.h"

void substep_input_close(struct substep_task *t)
{
	if (t->event)
		event_free(t->event);
	if (t->input)
		evbuffer_free(t->input);
	if (t->in >= 0)
		close(t->in);
	t->event = NULL;
	t->input = NULL;
	t->in = -1;
}

static void write_input(struct substep_task *t)
{
	if (evbuffer_get_length(t->input) > 0 && evbuffer_write(t->input, t->in) < 0 && errno != EAGAIN && errno != EINTR)
		evbuffer_drain(t->input, evbuffer_get_length(t->input)); /* the task reads no more */
	if (evbuffer_get_length(t->input) > 0)
		event_add(t->event, NULL);
}

bool substep_input_is_of_client(const struct substep *s)
{
	return s->spec && s->spec->rows == 0 && strcmp(s->spec->input, "client") == 0;
}

/* Close the input of tasks that have all of it. Returns false if the client must wait, since SUBSTEP_INPUT_MOST bytes or more are
 * queued for one task. */
static bool close_read(struct substep *s)
{
	bool room = true;
	for (int i = 0; i < s->ntasks; i++) {
		struct substep_task *t = &s->tasks[i];
		size_t length = t->input ? evbuffer_get_length(t->input) : 0;
		room = room && length < SUBSTEP_INPUT_MOST;
		if (t->input && length == 0 && s->input_ended)
			substep_input_close(t);
	}
	for (int i = 0; i < s->part_count; i++)
		room = room && substep_feed_has_room(&s->parts[i]);
	return room;
}

void substep_input_moved(struct substep *s)
{
	if (s->state != SUBSTEP_RUNNING || !substep_input_is_of_client(s))
		return;
	if (close_read(s))
		s->engine->handlers->drained();
	s->engine->handlers->input(s);
}

static void input_ready(evutil_socket_t fd, short what, void *arg)
{
	struct substep_task *t = arg;
	(void)fd;
	(void)what;
	write_input(t);
	substep_input_moved(t->substep);
}

int substep_input_open(struct substep_task *t, struct err *e)
{
	int ends[2];
	if (pipe2(ends, O_CLOEXEC) < 0) {
		err_sys(e, "could not make a pipe for standard input");
		return -1;
	}
	file_set_blocking(ends[1], false);
	t->in = ends[1];
	t->input = evbuffer_new();
	t->event = event_new(t->substep->engine->base, ends[1], EV_WRITE, input_ready, t);
	return ends[0];
}

/* Queue the bytes as input of all tasks that get input, here and on other nodes. Closes the pipes of tasks that have all of
 * it. */
static void give_tasks(struct substep *s, const void *bytes, size_t size)
{
	for (int i = 0; i < s->ntasks; i++) {
		struct substep_task *t = &s->tasks[i];
		if (!t->input)
			continue;
		evbuffer_add(t->input, bytes, size);
		write_input(t);
	}
	for (int i = 0; i < s->part_count; i++)
		substep_feed_add(s, &s->parts[i], bytes, size);
}

bool substep_input_add(struct substep *s, const void *bytes, size_t size, bool last)
{
	if (s->input_ended || substep_has_ended(s))
		return true;
	s->input_ended = last;
	if (s->state == SUBSTEP_WAITING) {
		if (!s->early)
			s->early = evbuffer_new();
		evbuffer_add(s->early, bytes, size);
		return evbuffer_get_length(s->early) < SUBSTEP_INPUT_MOST;
	}
	give_tasks(s, bytes, size);
	bool room = close_read(s);
	s->engine->handlers->input(s);
	return room;
}

bool substep_input_add_at(struct substep *s, int64_t offset, const void *bytes, size_t size, bool last)
{
	int64_t known = s->input_at - offset;
	if (known < 0) {
		s->input_lost = s->input_lost ? s->input_lost : s->engine->node;
		bool room = substep_input_add(s, "", 0, true);
		s->engine->handlers->input(s);
		return room;
	}
	known = known < (int64_t)size ? known : (int64_t)size;
	s->input_at += (int64_t)size - known;
	return substep_input_add(s, (const char *)bytes + known, size - (size_t)known, last);
}

void substep_input_begin(struct substep *s)
{
	struct evbuffer *early = s->early;
	size_t size = early ? evbuffer_get_length(early) : 0;
	s->early = NULL;
	if (early || s->input_ended)
		give_tasks(s, size ? (const void *)evbuffer_pullup(early, -1) : "", size);
	if (early)
		evbuffer_free(early);
	substep_input_moved(s);
}

enum substep_input_state substep_input_state(const struct substep *s)
{
	bool taken = s->input_ended && s->state == SUBSTEP_RUNNING;
	for (int i = 0; taken && i < s->ntasks; i++)
		taken = !s->tasks[i].input;
	for (int i = 0; taken && i < s->part_count; i++)
		taken = substep_feed_is_over(&s->parts[i]);
	return s->input_lost ? SUBSTEP_INPUT_LOST : taken ? SUBSTEP_INPUT_TAKEN : SUBSTEP_INPUT_OPEN;
}

int64_t substep_input_unread(const struct substep *s)
{
	size_t most = s->early ? evbuffer_get_length(s->early) : 0;
	for (int i = 0; s->tasks && i < s->ntasks; i++) {
		size_t length = s->tasks[i].input ? evbuffer_get_length(s->tasks[i].input) : 0;
		most = length > most ? length : most;
	}
	return (int64_t)most;
}
