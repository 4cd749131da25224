/* substep_input.c - standard input of tasks.
 *
 * Called by: substep_client.c for input that comes, substep_engine.c when tasks start, the event loop when a pipe has room.
 * Invariants: each task gets all bytes. A task that does not read delays its client, and nobody else. */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "procmgr/stepmgr/substep_parts.h"

enum { INPUT_MOST = 256 * 1024 };

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

/* Close the input of tasks that have all of it. Returns false if a task has not read much of what came. */
static bool close_read(struct substep *s)
{
	bool room = true;
	for (int i = 0; i < s->ntasks; i++) {
		struct substep_task *t = &s->tasks[i];
		size_t length = t->input ? evbuffer_get_length(t->input) : 0;
		room = room && length < INPUT_MOST;
		if (t->input && length == 0 && s->input_ended)
			substep_input_close(t);
	}
	return room;
}

static void input_ready(evutil_socket_t fd, short what, void *arg)
{
	struct substep_task *t = arg;
	struct substep *s = t->substep;
	(void)fd;
	(void)what;
	write_input(t);
	if (close_read(s))
		s->engine->handlers->drained();
}

int substep_input_open(struct substep_task *t, struct err *e)
{
	int ends[2];
	if (pipe2(ends, O_CLOEXEC) < 0) {
		err_sys(e, "could not make a pipe for standard input");
		return -1;
	}
	fcntl(ends[1], F_SETFL, O_NONBLOCK);
	t->in = ends[1];
	t->input = evbuffer_new();
	t->event = event_new(t->substep->engine->base, ends[1], EV_WRITE, input_ready, t);
	return ends[0];
}

bool substep_input_add(struct substep *s, const void *bytes, size_t size, bool last)
{
	s->input_ended = s->input_ended || last;
	if (s->state == SUBSTEP_WAITING) {
		if (!s->early)
			s->early = evbuffer_new();
		evbuffer_add(s->early, bytes, size);
		return evbuffer_get_length(s->early) < INPUT_MOST;
	}
	for (int i = 0; s->state == SUBSTEP_RUNNING && i < s->ntasks; i++) {
		struct substep_task *t = &s->tasks[i];
		if (!t->input)
			continue;
		evbuffer_add(t->input, bytes, size);
		write_input(t);
	}
	return s->state != SUBSTEP_RUNNING || close_read(s);
}
