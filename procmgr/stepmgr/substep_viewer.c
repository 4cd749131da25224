/* substep_viewer.c - speaks with rota-terminal, in frames of a type, a length and that many bytes.
 *
 * Called by: substep_reader.c.
 * Invariants:
 * - Output that the reader has no room for is not read, so it waits in the terminal, which gives that viewer the whole screen anew.
 * - The name of the socket is free to every user. Nothing is sent to, or read from, a process of another user that listens there. */
#include "procmgr/stepmgr/substep_viewer.h"

#include <arpa/inet.h>
#include <endian.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { HEAD_SIZE = 5, FRAME_MOST = 65536, AGAIN_USEC = 5000 };

struct substep_viewer {
	const struct substep_viewer_handlers *handlers;
	void *arg;
	struct bufferevent *stream; /* NULL before the terminal listens */
	struct evbuffer *early;	    /* frames for the terminal before it listens */
	struct event *again;	    /* when to try to connect again */
	struct sockaddr_un address;
	socklen_t address_size;
};

static struct evbuffer *output_of(struct substep_viewer *v)
{
	return v->stream ? bufferevent_get_output(v->stream) : v->early;
}

static void send_frame(struct substep_viewer *v, char type, const void *bytes, size_t size)
{
	uint32_t length = htonl((uint32_t)size);
	evbuffer_add(output_of(v), &type, 1);
	evbuffer_add(output_of(v), &length, sizeof length);
	evbuffer_add(output_of(v), bytes, size);
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

/* Take one frame. Returns false if none is whole. */
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
	if (head[0] == 'o')
		v->handlers->output(v->arg, bytes, length);
	else if (head[0] == 'w' && length == 4)
		v->handlers->window(v->arg, bytes[0] << 8 | bytes[1], bytes[2] << 8 | bytes[3]);
	else if (head[0] == 't' && length == 16 && v->handlers->activity)
		v->handlers->activity(v->arg, read_time(bytes), read_time(bytes + 8));
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
}

static void viewer_gone(struct bufferevent *stream, short what, void *arg)
{
	struct substep_viewer *v = arg;
	(void)what;
	while (take_frame(v, bufferevent_get_input(stream)))
		continue;
	v->handlers->ended(v->arg);
}

/* Is the process that listens one of this user? The kernel says whose it was when it began to listen. */
static bool is_own(int fd)
{
	struct ucred peer;
	socklen_t size = sizeof peer;
	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == geteuid();
}

static void connect_terminal(evutil_socket_t unused, short what, void *arg)
{
	struct substep_viewer *v = arg;
	static const struct timeval again = {.tv_usec = AGAIN_USEC};
	(void)unused;
	(void)what;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&v->address, v->address_size) < 0 || !is_own(fd)) {
		if (fd >= 0)
			close(fd);
		event_add(v->again, &again); /* the terminal listens soon, or the sub-step ends and frees the viewer */
		return;
	}
	v->stream = bufferevent_socket_new(event_get_base(v->again), fd, BEV_OPT_CLOSE_ON_FREE);
	bufferevent_setcb(v->stream, viewer_read, NULL, viewer_gone, v);
	bufferevent_setwatermark(v->stream, EV_READ, 0, 4 * FRAME_MOST);
	evbuffer_add_buffer(bufferevent_get_output(v->stream), v->early);
	bufferevent_enable(v->stream, EV_READ | EV_WRITE);
}

struct substep_viewer *substep_viewer_new(struct event_base *base, const char *name, const struct substep_view *view,
					  const struct substep_viewer_handlers *handlers, void *arg)
{
	struct substep_viewer *v = xcalloc(1, sizeof *v);
	unsigned char attach[5] = {(unsigned char)view->mode};
	uint32_t lines = htonl((uint32_t)view->lines);
	memcpy(attach + 1, &lines, sizeof lines);
	v->handlers = handlers;
	v->arg = arg;
	v->early = evbuffer_new();
	v->again = evtimer_new(base, connect_terminal, v);
	v->address.sun_family = AF_UNIX;
	/* An abstract name: it begins with a NUL, and ends with the address. */
	int size = snprintf(v->address.sun_path + 1, sizeof v->address.sun_path - 1, "%s", name);
	v->address_size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)size);
	send_frame(v, 'a', attach, sizeof attach);
	event_active(v->again, EV_TIMEOUT, 0);
	return v;
}

bool substep_viewer_is_connected(const struct substep_viewer *v)
{
	return v->stream != NULL;
}

void substep_viewer_free(struct substep_viewer *v)
{
	if (v->stream)
		bufferevent_free(v->stream);
	evbuffer_free(v->early);
	event_free(v->again);
	free(v);
}

void substep_viewer_continue(struct substep_viewer *v)
{
	if (!v->stream)
		return;
	bufferevent_enable(v->stream, EV_READ);
	viewer_read(v->stream, v);
}
