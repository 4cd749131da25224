/* substep_viewer.c - speaks with rota-terminal, a sub-step's terminal, in frames: a type, a length and that many bytes.
 *
 * Called by: substep_reader.c and substep_session.c.
 * Invariants:
 * - Output for which the reader has no room is not read from the terminal, which then sends this viewer the whole screen anew.
 * - A viewer of a terminal on another node has a connection of its own, so it delays no other viewer. When the connection breaks while the
 *   sub-step runs, it is made again, and the viewer gets the whole screen or text anew. Keys that were on the way are lost. */
#include "procmgr/stepmgr/substep_viewer.h"

#include <arpa/inet.h>
#include <endian.h>
#include <event2/buffer.h>
#include <stdlib.h>
#include <string.h>

#include "procmgr/stepmgr/substep_far.h"
#include "procmgr/stepmgr/substep_parts.h"

enum { HEAD_SIZE = 5, FRAME_MOST = 65536, EARLY_MOST = 2 * FRAME_MOST };

struct substep_viewer {
	const struct substep_viewer_handlers *handlers;
	void *arg;
	struct bufferevent *stream;    /* NULL: not connected */
	struct evbuffer *early;	       /* frames for the terminal, until the connection to it is made */
	struct substep_terminal *near; /* connection to a terminal on this node, else NULL */
	struct substep_far *far;       /* connection to a terminal on another node, else NULL */
	bool is_current;	       /* the present connection has brought a frame */
	bool is_over;		       /* the terminal has sent its last frame */
};

/* Send a frame to the terminal. Without a connection the frame waits; if more bytes wait than a person types, it is dropped. */
static void send_frame(struct substep_viewer *v, char type, const void *bytes, size_t size)
{
	if (v->stream)
		substep_terminal_frame(bufferevent_get_output(v->stream), type, bytes, size);
	else if (evbuffer_get_length(v->early) + size < EARLY_MOST)
		substep_terminal_frame(v->early, type, bytes, size);
}

void substep_viewer_input(struct substep_viewer *v, const void *bytes, size_t size)
{
	send_frame(v, 'i', bytes, size);
}

void substep_viewer_note(struct substep_viewer *v, const char *text)
{
	send_frame(v, 'n', text, strlen(text));
}

void substep_viewer_resize(struct substep_viewer *v, int rows, int cols)
{
	uint16_t size[] = {htons((uint16_t)rows), htons((uint16_t)cols)};
	send_frame(v, 's', size, sizeof size);
}

static int64_t read_time(const unsigned char *bytes)
{
	uint64_t time;
	memcpy(&time, bytes, sizeof time);
	return (int64_t)be64toh(time);
}

/* Take one frame out of the input. Returns false if no whole frame is there. */
static bool take_frame(struct substep_viewer *v, struct evbuffer *input)
{
	unsigned char head[HEAD_SIZE];
	uint32_t length;
	if (evbuffer_copyout(input, head, HEAD_SIZE) < HEAD_SIZE)
		return false;
	memcpy(&length, head + 1, sizeof length);
	length = ntohl(length);
	if (length > FRAME_MOST || evbuffer_get_length(input) < HEAD_SIZE + length)
		return false;
	evbuffer_drain(input, HEAD_SIZE);
	unsigned char *bytes = evbuffer_pullup(input, length);
	v->is_current = true;
	if (head[0] == 'o')
		v->handlers->output(v->arg, bytes, length);
	else if (head[0] == 'w' && length == 4)
		v->handlers->window(v->arg, bytes[0] << 8 | bytes[1], bytes[2] << 8 | bytes[3]);
	else if (head[0] == 't' && length == 16 && v->handlers->activity)
		v->handlers->activity(v->arg, read_time(bytes), read_time(bytes + 8));
	else if (head[0] == 'e')
		v->is_over = true;
	evbuffer_drain(input, length);
	return true;
}

static void viewer_read(struct bufferevent *stream, void *arg)
{
	struct substep_viewer *v = arg;
	while (v->handlers->has_room(v->arg) && take_frame(v, bufferevent_get_input(stream)))
		continue;
	if (!v->handlers->has_room(v->arg))
		bufferevent_disable(stream, EV_READ);
	if (v->is_over) /* do not free the viewer here: a caller may be using the reader */
		bufferevent_trigger_event(stream, BEV_EVENT_EOF, BEV_TRIG_DEFER_CALLBACKS);
}

static void viewer_gone(struct bufferevent *stream, short what, void *arg)
{
	struct substep_viewer *v = arg;
	if (v->near && (what & BEV_EVENT_WRITING))
		return; /* rota-terminal reads no more keys; its last output and the frame of its end are still to be read */
	while (take_frame(v, bufferevent_get_input(stream)))
		continue;
	if (!v->is_over && v->far && substep_far_again(v->far)) {
		bufferevent_free(v->stream);
		v->stream = NULL;
		v->is_current = false;
		return;
	}
	v->handlers->ended(v->arg);
}

static void viewer_opened(struct bufferevent *stream, void *arg)
{
	struct substep_viewer *v = arg;
	v->stream = stream;
	bufferevent_setcb(stream, viewer_read, NULL, viewer_gone, v);
	bufferevent_setwatermark(stream, EV_READ, 0, 4 * FRAME_MOST);
	evbuffer_add_buffer(bufferevent_get_output(stream), v->early);
	bufferevent_enable(stream, EV_READ | EV_WRITE);
	bufferevent_trigger(stream, EV_READ, BEV_TRIG_IGNORE_WATERMARKS | BEV_TRIG_DEFER_CALLBACKS);
}

static void viewer_lost(void *arg)
{
	struct substep_viewer *v = arg;
	v->handlers->ended(v->arg);
}

static struct substep_viewer *viewer_make(const struct substep_viewer_handlers *handlers, void *arg)
{
	struct substep_viewer *v = xcalloc(1, sizeof *v);
	v->handlers = handlers;
	v->arg = arg;
	v->early = evbuffer_new();
	return v;
}

struct substep_viewer *substep_viewer_new(struct event_base *base, const char *name, const struct substep_view *view,
					  const struct substep_viewer_handlers *handlers, void *arg)
{
	struct substep_viewer *v = viewer_make(handlers, arg);
	v->near = substep_terminal_attach(base, name, view, viewer_opened, v);
	return v;
}

struct substep_viewer *substep_viewer_open(struct substep *s, const struct substep_view *view,
					   const struct substep_viewer_handlers *handlers, void *arg)
{
	static const struct substep_far_handlers far_handlers = {viewer_opened, viewer_lost};
	if (s->part_count == 0)
		return substep_viewer_new(s->engine->base, s->terminal, view, handlers, arg);
	struct substep_viewer *v = viewer_make(handlers, arg);
	v->far = substep_far_new(s, view, &far_handlers, v);
	return v;
}

bool substep_viewer_is_current(const struct substep_viewer *v)
{
	return v->is_current;
}

bool substep_viewer_may_come(const struct substep_viewer *v)
{
	return v->stream || v->far;
}

void substep_viewer_free(struct substep_viewer *v)
{
	if (v->stream)
		bufferevent_free(v->stream);
	substep_terminal_free(v->near);
	substep_far_free(v->far);
	evbuffer_free(v->early);
	free(v);
}

void substep_viewer_continue(struct substep_viewer *v)
{
	if (!v->stream)
		return;
	bufferevent_enable(v->stream, EV_READ);
	viewer_read(v->stream, v);
}
