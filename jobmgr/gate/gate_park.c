/* gate_park.c - long polling: a request looks, and while there is nothing to tell it waits for a bell and looks again.
 *
 * gate_intake.c hands over requests of routes with GATE_PARK, gate.c passes bells on. What always holds: a parked request has at
 * most one call under way, looks every PARK_GAP ms at most, or after each hundredth of the time that it has waited (but a few times more
 * quickly behind each other when it has not looked for a while: a job's end rings more than once), so seldom that all parked ones
 * together make at most a thousand calls a second and that each one, however much it asks for, takes a fifth of a connection at most,
 * looks once more when its time is over, and is then answered; so a lost bell costs latency only. One whose client hung up is over. A
 * connection to the database that is lost in between is waited for: looking does no harm twice. */
#include "jobmgr/gate/gate_park.h"

#include <event2/bufferevent.h>
#include <stdlib.h>
#include <string.h>

#include "jobmgr/gate/gate_answer.h"
#include "jobmgr/gate/gate_member.h"
#include "lib/clock.h"

enum {
	PARK_GAP = 20, /* milliseconds */
	PARK_QUICK = 5, /* looks that need not keep this distance, one more for each such time in which there was none */
	PARK_REST = 5,
	PARK_DEFAULT = 30, /* seconds */
	PARK_LONGEST = 3600,
	PARK_DATABASE_GAP = 500 /* milliseconds */
};

/* timeout_s of a request: a number, or a string of digits (of a query). */
static bool park_time(const json_t *request, int64_t *seconds, struct err *e)
{
	const json_t *value = gate_member(request, "timeout_s");
	const char *text = json_string_value(value);
	char *end = NULL;

	if (!value)
		*seconds = PARK_DEFAULT;
	else if (text)
		*seconds = strtoll(text, &end, 10);
	else
		*seconds = json_is_number(value) ? (int64_t)json_number_value(value) : -1;
	if (text && (end == text || *end))
		*seconds = -1;
	if (*seconds < 0 || *seconds > PARK_LONGEST) {
		gate_refuse(e, "RT422", "\"timeout_s\" must be a number from 0 to %d", PARK_LONGEST);
		return false;
	}
	return true;
}

/* Whether an answer tells something: neither "done": false nor "changed": false. The database writes it in this one form, and a
 * quote that is part of a text has a backslash before it; to read all of a long answer for that would hold everybody up. */
static bool park_settled(const char *text)
{
	return !strstr(text, "\"done\": false") && !strstr(text, "\"changed\": false");
}

static void park_sleep(struct gate_call *c, int64_t wake_at)
{
	int64_t pause = wake_at - clock_ms();
	struct timeval wait = {0};

	if (pause > 0) {
		wait.tv_sec = pause / 1000;
		wait.tv_usec = pause % 1000 * 1000;
	}
	event_add(c->timer, &wait);
}

/* How far apart its looks are while bells ring all the time. */
static int64_t park_gap(const struct gate_call *c)
{
	int64_t gap = (clock_ms() - c->parked_at) / 100;

	return gap > PARK_GAP ? gap : PARK_GAP;
}

/* When a request that has just looked may look again. */
static int64_t park_next(const struct gate_call *c)
{
	int64_t least = c->quick > 0 ? 0 : park_gap(c), gap = c->gate->parked > least ? c->gate->parked : least;

	gap = c->took * PARK_REST > gap ? c->took * PARK_REST : gap;
	return c->looked_at + gap < c->until ? c->looked_at + gap : c->until;
}

static void park_answered(struct gate_call *c, const char *text, const struct err *e)
{
	bool over = clock_ms() >= c->until;

	c->took = clock_ms() - c->looked_at;
	if (c->deserted)
		gate_call_reply(c, "{}");
	else if (e && (over || strncmp(e->code, "08", 2) != 0))
		gate_call_fail(c, e, NULL);
	else if (!e && (over || park_settled(text)))
		gate_call_reply(c, text);
	else if (e)
		park_sleep(c, c->looked_at + PARK_DATABASE_GAP < c->until ? c->looked_at + PARK_DATABASE_GAP : c->until);
	else
		park_sleep(c, c->rung ? park_next(c) : c->until);
}

static void park_look(struct gate_call *c)
{
	int64_t now = clock_ms(), rested = (now - c->looked_at) / park_gap(c);

	c->rung = false;
	c->quick = c->quick + rested < PARK_QUICK ? c->quick + (int)rested : PARK_QUICK;
	c->quick -= c->quick > 0;
	c->looked_at = now;
	gate_call_request(c, c->route->function, c->request, park_answered);
}

static void park_wake(struct gate_call *c)
{
	if (!c->http)
		gate_call_reply(c, "{}"); /* to nobody */
	else
		park_look(c);
}

/* The client hung up. Reading is off while a request is served, so nobody else sees it. */
static void park_closed(evutil_socket_t fd, short what, void *arg)
{
	struct gate_call *c = arg;

	(void)fd;
	(void)what;
	c->deserted = true;
	if (!c->flying)
		gate_call_reply(c, "{}");
}

static void park_watch(struct gate_call *c)
{
	struct bufferevent *buffer = evhttp_connection_get_bufferevent(evhttp_request_get_connection(c->http));

	c->closed = event_new(c->gate->base, bufferevent_getfd(buffer), EV_CLOSED, park_closed, c);
	event_add(c->closed, NULL);
}

void gate_park_unwatch(struct gate_call *c)
{
	if (c->closed)
		event_free(c->closed);
	c->closed = NULL;
}

void gate_park(struct gate_call *c)
{
	int64_t seconds = 0;
	struct err e;

	if (c->route->function == API_job_show && !json_object_get(c->request, "since")) {
		c->until = 0; /* plain show: the first answer is the answer */
	} else if (!park_time(c->request, &seconds, &e)) {
		gate_call_fail(c, &e, NULL);
		return;
	} else {
		c->parked_at = clock_ms();
		c->until = c->parked_at + seconds * 1000;
		c->parked = true;
		TAILQ_INSERT_TAIL(&c->gate->parks, c, park_link);
		c->gate->parked++;
		park_watch(c);
	}
	c->issue = park_look;
	c->wake = park_wake;
	park_look(c);
}

void gate_park_end(struct gate_call *c)
{
	gate_park_unwatch(c);
	if (!c->parked)
		return;
	TAILQ_REMOVE(&c->gate->parks, c, park_link);
	c->gate->parked--;
	c->parked = false;
}

void gate_park_bell(struct gate_office *gate)
{
	struct gate_call *c;

	TAILQ_FOREACH(c, &gate->parks, park_link)
	{
		/* Who hung up is over at its timer, not while the list is walked. */
		if (!c->rung && !c->flying && c->http && park_next(c) <= clock_ms()) {
			park_look(c);
			continue;
		}
		if (!c->rung && !c->flying)
			park_sleep(c, park_next(c));
		c->rung = true;
	}
}

void gate_park_release(struct gate_office *gate)
{
	struct gate_call *c;

	TAILQ_FOREACH(c, &gate->parks, park_link)
	{
		c->until = 0;
		if (!c->flying)
			park_sleep(c, 0);
	}
}
