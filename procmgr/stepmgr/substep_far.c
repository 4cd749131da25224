/* substep_far.c - connections to terminals on other nodes (substep_far.h).
 *
 * Called by: substep_viewer.c for its viewers, substep_nodes.c for what agents open, substep_engine.c for lost nodes; the event loop.
 * Invariants:
 * - The agent opens a connection for each request, also for a terminal that has ended: then it closes the connection at once. So what a
 *   terminal has written reaches its viewers, in whatever order the connection and the end of the sub-step come.
 * - A request is repeated until the connection is there. A connection that no viewer wants any more is closed.
 * - Numbers of connections begin at a random number, so connections of an earlier step manager are not mistaken for new ones. */
#include "procmgr/stepmgr/substep_far.h"

#include <stdlib.h>
#include <sys/random.h>

#include "lib/clock.h"
#include "procmgr/stepmgr/substep_parts.h"

enum { REQUEST_ID = -3, AGAIN_USEC = 1000000, BROKEN_USEC = 100000, LATE_USEC = 10000000 };

struct substep_far {
	LIST_ENTRY(substep_far) next;
	struct substep *substep;
	int node; /* index in the engine's nodes */
	int64_t number;
	struct substep_view view;
	const struct substep_far_handlers *handlers;
	void *arg;
	struct event *again; /* timer of the next request; pending as long as there is no connection */
};

static LIST_HEAD(, substep_far) all = LIST_HEAD_INITIALIZER(all);

static void wait_for(struct substep_far *f, int64_t usec)
{
	struct timeval after = {.tv_sec = (time_t)(usec / 1000000), .tv_usec = (suseconds_t)(usec % 1000000)};
	event_add(f->again, &after);
}

static const char *mode_word(char mode)
{
	return mode == 'l' ? "live" : mode == 't' ? "text" : mode == 'f' ? "follow" : "monitor";
}

static void far_ask(struct substep_far *f)
{
	struct substep_engine *m = f->substep->engine;
	json_t *request = json_pack("{s:s, s:i, s:i, s:I, s:s, s:i}", "op", "view", "id", REQUEST_ID, "run", f->substep->number,
				    "view", (json_int_t)f->number, "mode", mode_word(f->view.mode), "lines", f->view.lines);
	m->send(m->nodes, f->node, request, "", 0);
	wait_for(f, AGAIN_USEC);
}

/* Ask the agent for the connection again. If the sub-step ended more than LATE_USEC ago, its agent is gone, and none is made. */
static void far_late(evutil_socket_t fd, short what, void *arg)
{
	struct substep_far *f = arg;
	const struct substep *s = f->substep;
	(void)fd;
	(void)what;
	if (substep_has_ended(s) && clock_boot_us() - s->ended_at > LATE_USEC)
		f->handlers->lost(f->arg);
	else
		far_ask(f);
}

static int64_t next_number(void)
{
	static uint32_t random;
	static int64_t count;
	if (count == 0 && getrandom(&random, sizeof random, 0) != (ssize_t)sizeof random)
		die("could not get random bytes: %m");
	return ((int64_t)random << 24) + ++count;
}

struct substep_far *substep_far_new(struct substep *s, const struct substep_view *view,
				    const struct substep_far_handlers *handlers, void *arg)
{
	struct substep_far *f = xcalloc(1, sizeof *f);
	f->substep = s;
	f->node = s->parts[0].node;
	f->number = next_number();
	f->view = *view;
	f->handlers = handlers;
	f->arg = arg;
	f->again = evtimer_new(s->engine->base, far_late, f);
	LIST_INSERT_HEAD(&all, f, next);
	far_ask(f);
	return f;
}

void substep_far_free(struct substep_far *f)
{
	if (!f)
		return;
	LIST_REMOVE(f, next);
	event_free(f->again);
	free(f);
}

bool substep_far_again(struct substep_far *f)
{
	if (f->substep->state != SUBSTEP_RUNNING)
		return false;
	wait_for(f, BROKEN_USEC);
	return true;
}

static bool is_wanted(const struct substep_far *f)
{
	return evtimer_pending(f->again, NULL);
}

void substep_far_take(int node, int64_t number, struct bufferevent *stream)
{
	struct substep_far *f;
	LIST_FOREACH (f, &all, next)
		if (f->number == number && f->node == node && is_wanted(f))
			break;
	if (!f) {
		bufferevent_free(stream);
		return;
	}
	event_del(f->again);
	f->handlers->opened(stream, f->arg);
}

void substep_far_ask(int node)
{
	struct substep_far *f;
	LIST_FOREACH (f, &all, next)
		if (f->node == node && is_wanted(f))
			far_ask(f);
}

void substep_far_lose(const struct substep *s)
{
	struct substep_far *f, *next;
	for (f = LIST_FIRST(&all); f; f = next) {
		next = LIST_NEXT(f, next);
		if (f->substep == s)
			f->handlers->lost(f->arg);
	}
}
