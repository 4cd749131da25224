/* substep_relay.c - passes bytes on between two streams (substep_relay.h).
 *
 * Called by: substep_agent.c and substep_bridge.c; the event loop.
 * Invariants:
 * - If about WAITING_MOST bytes wait for a side that does not read, no more bytes are read from the other side.
 * - What one side has sent before its end reaches the other side.
 * - A far side that is to close its connection itself (substep_relay_join) has LINGER_S seconds for that. */
#include "procmgr/stepmgr/substep_relay.h"

#include <event2/buffer.h>
#include <event2/event.h>
#include <stdbool.h>
#include <stdlib.h>

#include "lib/err.h"

enum { WAITING_MOST = 1 << 20, LINGER_S = 5 };

enum { NEAR, FAR };

struct relay {
	struct bufferevent *sides[2];
	bool ends;	    /* one side has ended: close the other side when all has been written to it */
	struct event *late; /* timer that closes `far`, to which all has been written; NULL: not yet */
};

static struct bufferevent *other_side(const struct relay *r, const struct bufferevent *side)
{
	return side == r->sides[0] ? r->sides[1] : r->sides[0];
}

static void end_relay(struct relay *r)
{
	bufferevent_free(r->sides[0]);
	bufferevent_free(r->sides[1]);
	if (r->late)
		event_free(r->late);
	free(r);
}

static void side_sent(struct bufferevent *side, void *arg)
{
	struct bufferevent *other = other_side(arg, side);
	bufferevent_write_buffer(other, bufferevent_get_input(side));
	if (evbuffer_get_length(bufferevent_get_output(other)) > WAITING_MOST)
		bufferevent_disable(side, EV_READ);
}

static void relay_late(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	end_relay(arg);
}

/* Called when one side has ended, and all has been written to the other side. */
static void finish_relay(struct relay *r)
{
	static const struct timeval most = {.tv_sec = LINGER_S};
	if (r->late)
		event_add(r->late, &most);
	else
		end_relay(r);
}

/* Called when a side has taken the bytes that waited for it. */
static void side_drained(struct bufferevent *side, void *arg)
{
	struct relay *r = arg;
	if (r->ends)
		finish_relay(r);
	else
		bufferevent_enable(other_side(r, side), EV_READ);
}

static void side_changed(struct bufferevent *side, short what, void *arg)
{
	struct relay *r = arg;
	if (what & BEV_EVENT_CONNECTED)
		return;
	if ((what & BEV_EVENT_WRITING) && side == r->sides[NEAR] && !r->ends) {
		/* The program at this side reads no more. What it has written before is still read, then its end. */
		evbuffer_drain(bufferevent_get_output(side), evbuffer_get_length(bufferevent_get_output(side)));
		return;
	}
	side_sent(side, r); /* pass on the bytes that came before the end */
	bufferevent_disable(side, EV_READ | EV_WRITE);
	bool both = r->ends;
	r->ends = true;
	if (side == r->sides[FAR] && r->late) {
		event_free(r->late);
		r->late = NULL;
	}
	if (both)
		end_relay(r);
	else if (evbuffer_get_length(bufferevent_get_output(other_side(r, side))) == 0)
		finish_relay(r);
}

static struct relay *relay_new(struct bufferevent *near, struct bufferevent *far)
{
	struct relay *r = xcalloc(1, sizeof *r);
	r->sides[NEAR] = near;
	r->sides[FAR] = far;
	for (int i = 0; i < 2; i++) {
		bufferevent_setcb(r->sides[i], side_sent, side_drained, side_changed, r);
		bufferevent_enable(r->sides[i], EV_READ | EV_WRITE);
	}
	return r;
}

void substep_relay_begin(struct bufferevent *near, struct bufferevent *far)
{
	relay_new(near, far);
}

void substep_relay_join(struct bufferevent *near, struct bufferevent *far)
{
	struct relay *r = relay_new(near, far);
	r->late = evtimer_new(bufferevent_get_base(far), relay_late, r);
	bufferevent_trigger(far, EV_READ,
			    BEV_TRIG_IGNORE_WATERMARKS | BEV_TRIG_DEFER_CALLBACKS); /* pass on the bytes that are buffered */
}
