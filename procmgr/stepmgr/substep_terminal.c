/* substep_terminal.c - connects to a rota-terminal of this node (substep_terminal.h).
 *
 * Called by: substep_viewer.c and substep_bridge.c; the event loop. Invariants: any user can bind the name of the socket. Nothing
 * is sent to, or read from, a process of another user that listens at that name. */
#include "procmgr/stepmgr/substep_terminal.h"

#include <arpa/inet.h>
#include <event2/buffer.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "lib/socket_peer.h"

enum { AGAIN_USEC = 5000 };

struct substep_terminal {
	struct substep_view view;
	void (*attached)(struct bufferevent *stream, void *arg);
	void *arg;
	struct event *again; /* timer of the next attempt to connect */
	struct sockaddr_un address;
	socklen_t address_size;
};

void substep_terminal_frame(struct evbuffer *to, char type, const void *bytes, size_t size)
{
	uint32_t length = htonl((uint32_t)size);
	evbuffer_add(to, &type, 1);
	evbuffer_add(to, &length, sizeof length);
	evbuffer_add(to, bytes, size);
}

/* Does a process of this user listen at the other end? */
static bool is_own(int fd)
{
	struct ucred peer;
	return socket_peer_read(fd, &peer) && peer.uid == geteuid();
}

static void send_attach(struct bufferevent *stream, const struct substep_view *view)
{
	unsigned char attach[5] = {(unsigned char)view->mode};
	uint32_t lines = htonl((uint32_t)view->lines);
	memcpy(attach + 1, &lines, sizeof lines);
	substep_terminal_frame(bufferevent_get_output(stream), 'a', attach, sizeof attach);
}

static void connect_terminal(evutil_socket_t unused, short what, void *arg)
{
	struct substep_terminal *t = arg;
	static const struct timeval again = {.tv_usec = AGAIN_USEC};
	(void)unused;
	(void)what;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&t->address, t->address_size) < 0 || !is_own(fd)) {
		if (fd >= 0)
			close(fd);
		/* try again: the terminal will listen soon, or the sub-step ends, which ends this attempt */
		event_add(t->again, &again);
		return;
	}
	struct bufferevent *stream = bufferevent_socket_new(event_get_base(t->again), fd, BEV_OPT_CLOSE_ON_FREE);
	send_attach(stream, &t->view);
	t->attached(stream, t->arg);
}

struct substep_terminal *substep_terminal_attach(struct event_base *base, const char *name, const struct substep_view *view,
						 void (*attached)(struct bufferevent *stream, void *arg), void *arg)
{
	struct substep_terminal *t = xcalloc(1, sizeof *t);
	t->view = *view;
	t->attached = attached;
	t->arg = arg;
	t->again = evtimer_new(base, connect_terminal, t);
	t->address.sun_family = AF_UNIX;
	/* An abstract socket name begins with a NUL, and ends with the address. */
	int size = snprintf(t->address.sun_path + 1, sizeof t->address.sun_path - 1, "%s", name);
	t->address_size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)size);
	event_active(t->again, EV_TIMEOUT, 0);
	return t;
}

void substep_terminal_free(struct substep_terminal *t)
{
	if (!t)
		return;
	event_free(t->again);
	free(t);
}
