/* substep_relay.c - passes bytes on between two streams (substep_relay.h).
 *
 * Called by: substep_agent.c; the event loop.
 * Invariants:
 * - At most about WAITING_MOST bytes wait for a side that does not read: then the other side is not read.
 * - What one side has sent before its end reaches the other side. */
#include "procmgr/stepmgr/substep_relay.h"

#include <event2/buffer.h>
#include <event2/event.h>
#include <stdbool.h>
#include <stdlib.h>

#include "lib/err.h"

enum { WAITING_MOST = 1 << 20 };

struct relay {
	struct bufferevent *sides[2];
	bool ends; /* a side has ended: close the other one once it has all */
};

static struct bufferevent *other_side(const struct relay *r, const struct bufferevent *side)
{
	return side == r->sides[0] ? r->sides[1] : r->sides[0];
}

static void end_relay(struct relay *r)
{
	bufferevent_free(r->sides[0]);
	bufferevent_free(r->sides[1]);
	free(r);
}

static void side_sent(struct bufferevent *side, void *arg)
{
	struct bufferevent *other = other_side(arg, side);
	bufferevent_write_buffer(other, bufferevent_get_input(side));
	if (evbuffer_get_length(bufferevent_get_output(other)) > WAITING_MOST)
		bufferevent_disable(side, EV_READ);
}

/* The side has read what waited for it. */
static void side_drained(struct bufferevent *side, void *arg)
{
	struct relay *r = arg;
	if (r->ends)
		end_relay(r);
	else
		bufferevent_enable(other_side(r, side), EV_READ);
}

static void side_changed(struct bufferevent *side, short what, void *arg)
{
	struct relay *r = arg;
	if (what & BEV_EVENT_CONNECTED)
		return;
	side_sent(side, r); /* what came before the end */
	bufferevent_disable(side, EV_READ | EV_WRITE);
	if (r->ends || evbuffer_get_length(bufferevent_get_output(other_side(r, side))) == 0)
		end_relay(r);
	else
		r->ends = true;
}

void substep_relay_begin(struct bufferevent *near, struct bufferevent *far)
{
	struct relay *r = xcalloc(1, sizeof *r);
	r->sides[0] = near;
	r->sides[1] = far;
	for (int i = 0; i < 2; i++) {
		bufferevent_setcb(r->sides[i], side_sent, side_drained, side_changed, r);
		bufferevent_enable(r->sides[i], EV_READ | EV_WRITE);
	}
}
