/* substep_session.c - follows the terminal of a sub-step, records its use, and ends it when it is idle.
 *
 * Called by: substep_engine.c at start and end of a run, substep_reader.c when somebody attaches or leaves.
 * Invariants:
 * - The terminal reports times of keys and output at most LAG_USEC late, so a deadline is that much later. A session is never ended
 *   early.
 * - A deadline only moves to later times, so a timer that is too early is set again, and no key or output touches it.
 * - New times of keys and output are recorded at most once in RECORD_USEC, and once more after somebody has left. */
#include "procmgr/stepmgr/substep_session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "lib/clock.h"
#include "lib/text.h"
#include "procmgr/stepmgr/substep_parts.h"
#include "procmgr/stepmgr/substep_viewer.h"

enum { USEC = 1000000, LAG_USEC = 1500000, RECORD_USEC = 60 * USEC, WARNING_USEC = 60 * USEC, NAME_SIZE = 257 };

static const char SESSION_ITSELF[] = "session";

struct substep_person {
	TAILQ_ENTRY(substep_person) next;
	char user[NAME_SIZE], host[NAME_SIZE];
	int64_t since;
};

struct substep_session {
	struct substep *substep;
	struct substep_viewer *monitor; /* monitor of the terminal; NULL: the terminal does not run */
	/* when a key was last typed and output last written, by clock_boot_us(); 0: not in this run */
	int64_t key_at, output_at;
	int64_t recorded_at;
	bool changed; /* a fact of the session has changed since recorded_at */
	bool warned;  /* people were warned since the last key or output */
	struct substep_idle_limit limit;
	struct event *record, *timeout;
	void (*idle)(struct substep *s);
	TAILQ_HEAD(, substep_person) persons;
};

static struct substep_idle_limit given; /* shortest limit of all sessions, which the keeper has given (ROTA_STEP_IDLE) */

void substep_session_use_limit(const char *text)
{
	char *end;
	if (!text)
		return;
	given.seconds = strtoll(text, &end, 10);
	given.of = xstrdup(end + strspn(end, " "));
	if (given.seconds < 1 || !*given.of)
		die("\"%s\" is no idle limit", text);
}

/* Returns the shortest of the idle limits that are set. */
static struct substep_idle_limit choose_limit(const struct substep *s)
{
	struct substep_idle_limit own = {s->spec->idle_timeout_s, s->spec->idle_timeout_s > 0 ? SESSION_ITSELF : NULL};
	bool is_given = given.seconds > 0 && (own.seconds == 0 || given.seconds < own.seconds);
	return is_given ? given : own;
}

/* --- records ------------------------------------------------------------------------------------------------------------------- */

static json_t *persons_json(const struct substep_session *o)
{
	const struct substep_person *p;
	json_t *list = json_array();
	TAILQ_FOREACH (p, &o->persons, next)
		json_array_append_new(
			list, json_pack("{s:s, s:s, s:I}", "user", p->user, "host", p->host, "since", (json_int_t)p->since));
	return list;
}

static void write_record(struct substep_session *o)
{
	substep_record_session(o->substep->engine, o->substep, &o->limit, o->key_at, o->output_at, persons_json(o));
	o->recorded_at = clock_boot_us();
	o->changed = false;
	evtimer_del(o->record);
}

static void record_pending(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	write_record(arg);
}

static void add_timer(struct event *timer, int64_t usec)
{
	struct timeval after = {.tv_sec = (time_t)(usec / USEC), .tv_usec = (suseconds_t)(usec % USEC)};
	if (usec < 0)
		after = (struct timeval){0};
	evtimer_add(timer, &after);
}

/* --- activity ------------------------------------------------------------------------------------------------------------------ */

static int64_t last_activity(const struct substep_session *o)
{
	int64_t last = o->key_at > o->output_at ? o->key_at : o->output_at;
	return last > o->substep->started_at ? last : o->substep->started_at;
}

static void monitor_activity(void *arg, int64_t key_at, int64_t output_at)
{
	struct substep_session *o = arg;
	if (key_at == o->key_at && output_at == o->output_at)
		return;
	o->key_at = key_at;
	o->output_at = output_at;
	o->warned = false;
	if (!o->changed)
		add_timer(o->record, o->recorded_at + RECORD_USEC - clock_boot_us());
	o->changed = true;
}

static bool monitor_has_room(void *arg)
{
	(void)arg;
	return true;
}

static void monitor_output(void *arg, const void *bytes, size_t size)
{
	(void)arg;
	(void)bytes;
	(void)size;
}

static void monitor_window(void *arg, int rows, int cols)
{
	(void)arg;
	(void)rows;
	(void)cols;
}

static void monitor_ended(void *arg)
{
	struct substep_session *o = arg;
	substep_viewer_free(o->monitor);
	o->monitor = NULL;
}

static const struct substep_viewer_handlers monitor_handlers = {monitor_has_room, monitor_output, monitor_window, monitor_ended,
								monitor_activity};

/* --- the idle timeout ---------------------------------------------------------------------------------------------------------- */

static void warn_people(struct substep_session *o, int64_t left)
{
	const char *of = o->limit.of == SESSION_ITSELF ? NULL : o->limit.of;
	char *text = xasprintf("\r\nrota: this session is idle and ends in %lld s%s%s%s; press a key to keep it\r\n",
			       (long long)((left + USEC / 2) / USEC), of ? " (limit of " : "", of ? of : "", of ? ")" : "");
	substep_viewer_note(o->monitor, text);
	free(text);
	o->warned = true;
}

/* Returns how many microseconds before the end of an idle session its people are warned. */
static int64_t warning_usec(const struct substep_session *o)
{
	int64_t half = o->limit.seconds * USEC / 2;
	return half < WARNING_USEC ? half : WARNING_USEC;
}

static void end_idle(struct substep_session *o)
{
	struct substep *s = o->substep;
	if (o->limit.of != SESSION_ITSELF && !*s->cause)
		snprintf(s->message, sizeof s->message, "limit of %s", o->limit.of);
	o->idle(s);
}

/* Warn the people of an idle session, or end it, if the time has come. Otherwise set the timer again. */
static void check_idle(evutil_socket_t fd, short what, void *arg)
{
	struct substep_session *o = arg;
	int64_t limit = o->limit.seconds * USEC, warning = warning_usec(o);
	int64_t deadline = last_activity(o) + limit + LAG_USEC, now = clock_boot_us();
	(void)fd;
	(void)what;
	if (!o->monitor)
		return; /* the terminal has ended, or is of a version that does not report times */
	/* the node of the terminal is not connected, so it is not known when keys were typed */
	if (!substep_viewer_is_current(o->monitor)) {
		add_timer(o->timeout, LAG_USEC);
		return;
	}
	if (now >= deadline && o->warned) {
		end_idle(o);
		return;
	}
	if (now >= deadline - warning && !o->warned) {
		warn_people(o, warning);
		deadline = deadline > now + warning ? deadline : now + warning;
	}
	add_timer(o->timeout, (o->warned ? deadline : deadline - warning) - now);
}

/* --- begin and end ------------------------------------------------------------------------------------------------------------- */

void substep_session_choose_terminal(struct substep *s)
{
	unsigned char random[8];
	if (s->spec->rows == 0)
		return;
	if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random)
		die("could not get random bytes: %m");
	free(s->terminal);
	s->terminal = xasprintf("rota-terminal-%02x%02x%02x%02x%02x%02x%02x%02x", random[0], random[1], random[2], random[3],
				random[4], random[5], random[6], random[7]);
}

void substep_session_begin(struct substep *s, void (*idle)(struct substep *s))
{
	static const struct substep_view view = {.mode = 'm'};
	struct substep_session *o = s->session;
	if (!o) {
		o = s->session = xcalloc(1, sizeof *o);
		o->substep = s;
		TAILQ_INIT(&o->persons);
	}
	o->idle = idle;
	o->limit = choose_limit(s);
	o->key_at = o->output_at = 0;
	o->warned = o->changed = false;
	o->record = evtimer_new(s->engine->base, record_pending, o);
	o->timeout = evtimer_new(s->engine->base, check_idle, o);
	o->monitor = substep_viewer_open(s, &view, &monitor_handlers, o);
	write_record(o);
	if (o->limit.seconds > 0)
		add_timer(o->timeout, o->limit.seconds * USEC - warning_usec(o) + LAG_USEC);
}

static void session_free(struct substep *s)
{
	free(s->session);
	s->session = NULL;
}

void substep_session_end(struct substep *s)
{
	struct substep_session *o = s->session;
	if (!o || !o->record)
		return;
	if (o->changed)
		write_record(o);
	if (o->monitor)
		monitor_ended(o);
	event_free(o->record);
	event_free(o->timeout);
	o->record = o->timeout = NULL;
	if (TAILQ_EMPTY(&o->persons))
		session_free(s);
}

static void copy_name(char *to, const char *from)
{
	snprintf(to, NAME_SIZE, "%s", from);
	text_clean(to); /* the name may have been cut within a character, which JSON refuses */
}

struct substep_person *substep_session_join(struct substep *s, const char *user, const char *host)
{
	struct substep_session *o = s->session;
	if (!o || !o->record)
		return NULL;
	struct substep_person *p = xcalloc(1, sizeof *p);
	copy_name(p->user, user);
	copy_name(p->host, host);
	p->since = clock_boot_us();
	TAILQ_INSERT_TAIL(&o->persons, p, next);
	write_record(o);
	return p;
}

void substep_session_leave(struct substep *s, struct substep_person *person)
{
	struct substep_session *o = s->session;
	if (!o || !person)
		return;
	TAILQ_REMOVE(&o->persons, person, next);
	free(person);
	if (o->record) {
		write_record(o);
		o->recorded_at -= RECORD_USEC - LAG_USEC; /* report and record within LAG_USEC what the leaving person did last */
	} else if (TAILQ_EMPTY(&o->persons)) {
		session_free(s);
	}
}

static double seconds_since(int64_t at)
{
	return (double)(clock_boot_us() - at) / USEC;
}

void substep_session_describe(const struct substep *s, json_t *object)
{
	const struct substep_session *o = s->session;
	const struct substep_person *p;
	if (!o || !o->record)
		return;
	json_t *list = json_array();
	TAILQ_FOREACH (p, &o->persons, next)
		json_array_append_new(list, json_pack("{s:s, s:s, s:f}", "user", p->user, "host", p->host, "attached_s",
						      seconds_since(p->since)));
	json_object_set_new(object, "session", json_string(s->spec->session));
	json_object_set_new(object, "idle_s", json_real(seconds_since(last_activity(o))));
	json_object_set_new(object, "idle_timeout_s", json_integer(o->limit.seconds));
	if (o->limit.of)
		json_object_set_new(object, "idle_timeout_of", json_string(o->limit.of));
	json_object_set_new(object, "gres", json_string(s->spec->gres));
	json_object_set_new(object, "mem_mb", json_integer(s->spec->mem_mb));
	json_object_set_new(object, "attached", list);
}
