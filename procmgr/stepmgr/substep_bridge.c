/* substep_bridge.c - joins a terminal of this node with a viewer of the step manager (substep_bridge.h).
 *
 * Called by: substep_agent.c at its start, substep_request.c for each request `view`; the event loop.
 * Invariants:
 * - A bridge attaches to the terminal without waiting for the step manager, so no output of a short program is missed.
 * - Each viewer has a connection of its own, for which substep_relay.c buffers little. So a viewer that does not read delays
 *   nobody. */
#include "procmgr/stepmgr/substep_bridge.h"

#include <stdlib.h>

#include "procmgr/stepmgr/substep_parts.h"
#include "procmgr/stepmgr/substep_relay.h"

enum { LOOK_USEC = 5000 };

/* A connection to the step manager that is not joined with its terminal yet. */
struct bridge {
	const struct substep *substep; /* NULL: unknown */
	struct substep_view view;
	struct bufferevent *far; /* to the step manager */
	bool is_connected;	 /* `far` is connected */
	/* rota-terminal has ended: close `far`, the connection to the step manager, as soon as it is made */
	bool is_over;
	struct substep_terminal *near; /* NULL: the sub-step does not run yet */
	struct event *look;
};

static struct {
	struct event_base *base;
	struct bufferevent *(*connect)(int64_t number);
} bridges;

void substep_bridge_use(struct event_base *base, struct bufferevent *(*connect)(int64_t number))
{
	bridges.base = base;
	bridges.connect = connect;
}

/* Free the bridge, but not `far`, its connection to the step manager. */
static void bridge_free(struct bridge *b)
{
	substep_terminal_free(b->near);
	event_free(b->look);
	free(b);
}

static void bridge_close(struct bridge *b)
{
	bufferevent_free(b->far);
	bridge_free(b);
}

static void bridge_attached(struct bufferevent *stream, void *arg)
{
	struct bridge *b = arg;
	substep_relay_join(stream, b->far);
	bridge_free(b);
}

/* Attach to the terminal when the sub-step runs. Until the terminal listens or the sub-step has ended, try again after a
 * pause. */
static void bridge_look(evutil_socket_t fd, short what, void *arg)
{
	static const struct timeval pause = {.tv_usec = LOOK_USEC};
	struct bridge *b = arg;
	const struct substep *s = b->substep;
	(void)fd;
	(void)what;
	b->is_over = !s || substep_has_ended(s);
	if (b->is_over && b->is_connected) {
		bridge_close(b);
		return;
	}
	if (b->is_over)
		return;
	if (!b->near && s->state == SUBSTEP_RUNNING && s->terminal)
		b->near = substep_terminal_attach(bridges.base, s->terminal, &b->view, bridge_attached, b);
	event_add(b->look, &pause);
}

static void far_changed(struct bufferevent *stream, short what, void *arg)
{
	struct bridge *b = arg;
	(void)stream;
	b->is_connected = what & BEV_EVENT_CONNECTED;
	if (!b->is_connected || b->is_over)
		bridge_close(b); /* if the step manager still wants the terminal, it asks for it again */
}

void substep_bridge_open(const struct substep *s, const struct substep_view *view, int64_t number)
{
	struct bufferevent *far = bridges.connect ? bridges.connect(number) : NULL;
	if (!far)
		return;
	struct bridge *b = xcalloc(1, sizeof *b);
	b->substep = s;
	b->view = *view;
	b->far = far;
	b->look = evtimer_new(bridges.base, bridge_look, b);
	bufferevent_setcb(far, NULL, NULL, far_changed, b);
	bufferevent_enable(far, EV_READ | EV_WRITE);
	event_active(b->look, EV_TIMEOUT, 0);
}
