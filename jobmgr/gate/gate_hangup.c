/* gate_hangup.c - notices that a client has closed its connection while its request is served. evhttp does not, since it does not
 * read meanwhile.
 *
 * Called by: gate_wait.c and gate_hook_status.c.
 * Invariants:
 * - Nothing is read from the connection: a client may send its next request before it has the answer.
 * - A connection that was reset is noticed, too, so the event is not for EV_CLOSED alone (lib/socket_peer.h). */
#include "jobmgr/gate/gate_hangup.h"

#include <event2/bufferevent.h>
#include <stdlib.h>

#include "lib/socket_peer.h"

enum { HANGUP_LOOK = 1 }; /* seconds between two looks at a connection with bytes that nobody reads yet */

struct gate_hangup {
	struct gate_call *call;
	void (*gone)(struct gate_call *c);
	evutil_socket_t fd;
	struct event *event; /* event that the connection has bytes or has closed; then a timer, since the bytes stay */
};

static void hangup_look(evutil_socket_t fd, short what, void *arg)
{
	static const struct timeval pause = {.tv_sec = HANGUP_LOOK};
	struct gate_hangup *h = arg;

	(void)fd;
	if (socket_peer_has_closed(h->fd)) {
		h->gone(h->call);
		return;
	}
	if (!(what & EV_TIMEOUT)) {
		event_free(h->event);
		h->event = evtimer_new(h->call->server->base, hangup_look, h);
	}
	event_add(h->event, &pause);
}

struct gate_hangup *gate_hangup_new(struct gate_call *c, void (*gone)(struct gate_call *c))
{
	struct gate_hangup *h = xcalloc(1, sizeof *h);

	h->call = c;
	h->gone = gone;
	h->fd = bufferevent_getfd(evhttp_connection_get_bufferevent(evhttp_request_get_connection(c->http)));
	h->event = event_new(c->server->base, h->fd, EV_READ | EV_CLOSED, hangup_look, h);
	event_add(h->event, NULL);
	return h;
}

void gate_hangup_free(struct gate_hangup *h)
{
	if (!h)
		return;
	event_free(h->event);
	free(h);
}
