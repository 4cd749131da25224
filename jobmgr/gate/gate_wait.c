/* gate_wait.c - long polls: after each notification, call the api function of a request again, until its answer is final.
 *
 * Called by: gate_dispatch.c with requests of routes with GATE_WAIT; gate.c with notifications and at shutdown.
 * Invariants:
 * - A long poll has at most one query under way. When its time is over, it polls once more and is answered. So a
 *   lost notification only delays the answer.
 * - Between two polls of one request are WAIT_GAP ms, or a hundredth of the time that it has waited. After a pause a few polls
 *   may follow at once, because the end of a job causes several notifications. All long polls together poll at most a thousand
 *   times a second, and each polls for at most a fifth of the time.
 * - A long poll whose client hung up ends. A long poll whose database connection is lost polls again, since a poll changes
 *   nothing. */
#include "jobmgr/gate/gate_wait.h"

#include <stdlib.h>
#include <string.h>

#include "jobmgr/gate/gate_answer.h"
#include "jobmgr/gate/gate_hangup.h"
#include "jobmgr/gate/gate_request.h"
#include "lib/clock.h"

enum {
	WAIT_GAP = 20,	   /* least time between two polls of one long poll, in milliseconds */
	WAIT_BURST = 5,	   /* most polls that may follow without a gap; each gap without a poll adds one such poll */
	WAIT_REST = 5,	   /* least pause after a poll, in durations of the poll */
	WAIT_DEFAULT = 30, /* seconds that a long poll waits if the request has no "timeout_s" */
	WAIT_LONGEST = 3600,
	WAIT_RETRY = 500 /* milliseconds until a poll is repeated after the connection to the database was lost */
};

enum wait_state {
	WAIT_POLLING,	    /* the query of the long poll is under way */
	WAIT_POLLING_AGAIN, /* the query of the long poll is under way, and a notification has come since it was sent */
	WAIT_ABANDONED,	    /* the query of the long poll is under way, and the client has hung up */
	WAIT_SLEEPING,	    /* the long poll waits until its time is over or a notification comes */
	WAIT_SCHEDULED	    /* the long poll waits until the gap since its last poll is over */
};

struct gate_wait {
	struct gate_waits *all;
	struct gate_call *call;
	enum wait_state state;
	struct event *timer;	    /* timer that ends the states WAIT_SLEEPING and WAIT_SCHEDULED */
	struct gate_hangup *hangup; /* watch of the client's connection; NULL: the client is answered */
	int64_t since, until;	    /* begin and end of the long poll, by clock_ms() */
	int64_t polled_at, took;    /* time of the last poll by clock_ms(), and its duration in milliseconds */
	int burst;		    /* number of polls that may now follow without a gap */
	TAILQ_ENTRY(gate_wait) link;
};

struct gate_waits {
	TAILQ_HEAD(, gate_wait) list;
	unsigned count;
};

/* Read the member "timeout_s" of a request: a number, or a string of digits from the query of a URI. */
static bool wait_read_timeout(const json_t *request, int64_t *seconds, struct err *e)
{
	const json_t *value = gate_request_member(request, "timeout_s");
	const char *text = json_string_value(value);
	char *end = NULL;

	if (!value)
		*seconds = WAIT_DEFAULT;
	else if (text)
		*seconds = strtoll(text, &end, 10);
	else
		*seconds = json_is_number(value) ? (int64_t)json_number_value(value) : -1;
	if (text && (end == text || *end))
		*seconds = -1;
	if (*seconds < 0 || *seconds > WAIT_LONGEST) {
		gate_refuse(e, "RT422", "\"timeout_s\" must be a number from 0 to %d", WAIT_LONGEST);
		return false;
	}
	return true;
}

static bool wait_is_false(const char *text, const char *name)
{
	const char *value = gate_answer_member(text, name);

	return value && strncmp(value, "false", 5) == 0;
}

/* Is the database's answer to a poll final? It is not if its member "done" or "changed" is false. Without these members it is. */
static bool wait_is_final(const char *text)
{
	return !wait_is_false(text, "done") && !wait_is_false(text, "changed");
}

static bool wait_is_polling(const struct gate_wait *w)
{
	return w->state == WAIT_POLLING || w->state == WAIT_POLLING_AGAIN || w->state == WAIT_ABANDONED;
}

static void wait_sleep(struct gate_wait *w, enum wait_state state, int64_t wake_at)
{
	int64_t pause = wake_at - clock_ms();
	struct timeval time = {0};

	w->state = state;
	if (pause > 0) {
		time.tv_sec = pause / 1000;
		time.tv_usec = pause % 1000 * 1000;
	}
	event_add(w->timer, &time);
}

/* Returns the least time between two polls of a long poll, in milliseconds. */
static int64_t wait_gap(const struct gate_wait *w)
{
	int64_t gap = (clock_ms() - w->since) / 100;

	return gap > WAIT_GAP ? gap : WAIT_GAP;
}

/* Returns the time at which a long poll may poll again, by clock_ms(). */
static int64_t wait_next_poll(const struct gate_wait *w)
{
	int64_t least = w->burst > 0 ? 0 : wait_gap(w), gap = w->all->count > least ? w->all->count : least;

	gap = w->took * WAIT_REST > gap ? w->took * WAIT_REST : gap;
	return w->polled_at + gap < w->until ? w->polled_at + gap : w->until;
}

static void wait_answered(struct gate_call *c, const char *text, const struct err *e)
{
	struct gate_wait *w = c->state;
	int64_t now = clock_ms(), retry = w->polled_at + WAIT_RETRY;
	bool is_over = now >= w->until, again = w->state == WAIT_POLLING_AGAIN;

	w->took = now - w->polled_at;
	if (w->state == WAIT_ABANDONED)
		gate_call_abandon(c);
	else if (e && (is_over || strncmp(e->code, "08", 2) != 0))
		gate_call_fail(c, e, NULL);
	else if (!e && (is_over || wait_is_final(text)))
		gate_call_reply(c, text);
	else if (e)
		wait_sleep(w, again ? WAIT_SCHEDULED : WAIT_SLEEPING, retry < w->until ? retry : w->until);
	else if (again)
		wait_sleep(w, WAIT_SCHEDULED, wait_next_poll(w));
	else
		wait_sleep(w, WAIT_SLEEPING, w->until);
}

static void wait_poll(struct gate_call *c)
{
	struct gate_wait *w = c->state;
	int64_t now = clock_ms(), pauses = (now - w->polled_at) / wait_gap(w);

	event_del(w->timer);
	if (w->state != WAIT_ABANDONED) /* the state may be WAIT_ABANDONED, since gate_call.c repeats a poll after a rollback */
		w->state = WAIT_POLLING;
	w->burst = w->burst + pauses < WAIT_BURST ? w->burst + (int)pauses : WAIT_BURST;
	w->burst -= w->burst > 0;
	w->polled_at = now;
	gate_call_request(c, c->route->function, c->request, wait_answered);
}

static void wait_wake(evutil_socket_t fd, short what, void *arg)
{
	struct gate_wait *w = arg;

	(void)fd;
	(void)what;
	if (!w->call->http)
		gate_call_abandon(w->call);
	else
		wait_poll(w->call);
}

/* Stop watching the client's connection: it may serve other requests from now on, or close. */
static void wait_lose_client(struct gate_call *c)
{
	struct gate_wait *w = c->state;

	gate_hangup_free(w->hangup);
	w->hangup = NULL;
}

/* Called when the client has closed its connection. */
static void wait_hangup(struct gate_call *c)
{
	struct gate_wait *w = c->state;

	if (wait_is_polling(w)) {
		wait_lose_client(c);
		w->state = WAIT_ABANDONED;
	} else {
		gate_call_abandon(c);
	}
}

static void wait_free(struct gate_call *c)
{
	struct gate_wait *w = c->state;

	wait_lose_client(c);
	event_free(w->timer);
	TAILQ_REMOVE(&w->all->list, w, link);
	w->all->count--;
	free(w);
}

static void wait_begin(struct gate_call *c, int64_t seconds)
{
	static const struct gate_verb verb = {wait_lose_client, wait_free};
	struct gate_wait *w = xcalloc(1, sizeof *w);

	w->all = c->server->waits;
	w->call = c;
	w->since = clock_ms();
	w->until = w->since + seconds * 1000;
	w->timer = event_new(c->server->base, -1, 0, wait_wake, w);
	w->hangup = gate_hangup_new(c, wait_hangup);
	TAILQ_INSERT_TAIL(&w->all->list, w, link);
	w->all->count++;
	c->verb = &verb;
	c->state = w;
	c->send = wait_poll;
	wait_poll(c);
}

void gate_wait(struct gate_call *c)
{
	int64_t seconds;
	struct err e;

	if (c->route->function == API_job_show && !json_object_get(c->request, "since"))
		gate_call_forward(c); /* a request of the verb "show" that does not ask to wait is answered at once */
	else if (!wait_read_timeout(c->request, &seconds, &e))
		gate_call_fail(c, &e, NULL);
	else
		wait_begin(c, seconds);
}

/* All long polls of the server. */

struct gate_waits *gate_waits_new(void)
{
	struct gate_waits *all = xcalloc(1, sizeof *all);

	TAILQ_INIT(&all->list);
	return all;
}

void gate_waits_free(struct gate_waits *all)
{
	free(all);
}

void gate_waits_notify(struct gate_waits *all)
{
	struct gate_wait *w;

	TAILQ_FOREACH (w, &all->list, link) {
		if (w->state == WAIT_POLLING)
			w->state = WAIT_POLLING_AGAIN;
		if (w->state != WAIT_SLEEPING)
			continue;
		/* A long poll without a client ends at its timer, not while the list is walked. */
		if (w->call->http && wait_next_poll(w) <= clock_ms())
			wait_poll(w->call);
		else
			wait_sleep(w, WAIT_SCHEDULED, wait_next_poll(w));
	}
}

void gate_waits_release(struct gate_waits *all)
{
	struct gate_wait *w;

	TAILQ_FOREACH (w, &all->list, link) {
		w->until = 0;
		if (!wait_is_polling(w))
			wait_sleep(w, w->state, 0);
	}
}
