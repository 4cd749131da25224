/* runner_staging.c - calls of functions of burst_buffer.lua: takes them from the database, runs them, and reports how they ended.
 *
 * Called by: runner.c on notifications, on each beat, when a process ended and at the end of a term.
 * Invariants:
 * - Calls run within a term only, the same as that of prologs and epilogs.
 * - A call is in one of the lists from the moment when a row named it until its end is in the database. A call that has begun and
 *   that the runner does not list counts as interrupted in the database.
 * - One database call is under way at a time, so that ended calls are reported before the calls that follow them are taken. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/clock.h"
#include "lib/crash.h"
#include "lib/log.h"
#include "runner/runner_parts.h"

struct runner_staging {
	struct hook_set calls; /* hook->about is the struct staging_call */
	bool asking;	       /* a call of the database is under way */
	bool may_be_due;       /* the database may have calls that are due */
	bool look;	       /* running calls may have become unwanted: ask the database */
	bool waiting;	       /* the latest answer named some job, so more calls may be due soon */
	int64_t term;	       /* term of this runnerd when the database was asked */
	struct event *again;   /* timer of the next poll, for a function that returned busy */
};

static void staging_again(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	runner_staging_poll(arg, false);
}

struct runner_staging *runner_staging_new(struct runner *r)
{
	struct runner_staging *s = xcalloc(1, sizeof *s);

	hook_set_open(&s->calls, &r->bound, r->conf->hooks_stage_calls);
	s->again = evtimer_new(r->base, staging_again, r);
	return s;
}

void runner_staging_free(struct runner_staging *s)
{
	hook_set_free(&s->calls);
	event_free(s->again);
	free(s);
}

void runner_staging_end(struct runner *r)
{
	hook_set_end(&r->staging->calls, &r->dying);
	r->staging->may_be_due = false;
}

bool runner_staging_busy(const struct runner *r)
{
	return hook_set_is_busy(&r->staging->calls) || r->staging->waiting;
}

static void staging_exchange(struct runner *r);

static void staging_report_answered(struct db *db, PGresult *result, const struct err *e, void *arg)
{
	struct runner *r = arg;
	struct runner_staging *s = r->staging;

	(void)db;
	s->asking = false;
	hook_set_reported(&s->calls, result != NULL);
	if (!result) { /* the next beat tries again */
		runner_term_failed(r, "could not report functions of burst_buffer.lua to the database; trying again", e);
		return;
	}
	s->may_be_due = true;
	staging_exchange(r);
}

static void column_number(struct db_array *column, bool known, int64_t number)
{
	char text[24];

	snprintf(text, sizeof text, "%lld", (long long)number);
	db_array_text(column, known ? text : NULL);
}

static void staging_report(struct runner *r)
{
	enum { IDS, RCS, BUSY, USECS, MESSAGES, OUTPUTS, RESULTS, COLUMNS };
	struct runner_staging *s = r->staging;
	struct db_array *columns[COLUMNS];
	struct db_param params[COLUMNS + 3] = {{r->term_text, -1}};
	char poll[16];

	for (int i = 0; i < COLUMNS; i++)
		columns[i] = db_array_new();
	for (const struct hook *h = s->calls.ended; h; h = h->next) {
		const struct staging_call *call = h->about;

		db_array_int(columns[IDS], h->id);
		column_number(columns[RCS], call->rc > -2, call->rc);
		db_array_text(columns[BUSY], call->busy ? "true" : "false");
		if (call->busy && !evtimer_pending(s->again, NULL))
			event_add(s->again, &(struct timeval){.tv_sec = r->conf->hooks_poll_interval, .tv_usec = 1000});
		column_number(columns[USECS], h->ran_us >= 0, h->ran_us);
		db_array_text(columns[MESSAGES], call->message);
		db_array_text(columns[OUTPUTS], h->tail);
		db_array_text(columns[RESULTS], call->answer);
	}
	for (int i = 0; i < COLUMNS; i++)
		params[i + 1] = (struct db_param){db_array_literal(columns[i]), -1};
	snprintf(poll, sizeof poll, "%d", r->conf->hooks_poll_interval);
	params[COLUMNS + 1] = (struct db_param){poll, -1};
	params[COLUMNS + 2] = (struct db_param){strcmp(r->conf->hooks_teardown_failure, "on") == 0 ? "true" : "false", -1};
	hook_set_report(&s->calls);
	s->asking = true;
	db_call(r->db, API_staging_report, params, COLUMNS + 3, staging_report_answered, r);
	for (int i = 0; i < COLUMNS; i++)
		db_array_free(columns[i]);
}

/* Start or stop the call of burst_buffer.lua that a row of api.staging_take names. */
static void staging_apply(struct runner *r, const PGresult *result, int row)
{
	static const char unwanted[] = "was killed or was not run: it is not wanted any more";
	struct runner_staging *s = r->staging;
	int64_t id = strtoll(db_text(result, row, "call_id"), NULL, 10);
	bool wanted = *db_text(result, row, "wanted") == 't';
	struct hook *h = hook_set_find(&s->calls, id);
	struct staging_call *call;

	if (h) {
		if (!wanted && h->pid > 0) /* the process may have ended since the database was asked */
			hook_stop(h, unwanted);
		return;
	}
	call = staging_call_new(r, result, row);
	if (!wanted)
		call->message = xstrdup(unwanted);
	else if (staging_call_start(call, r, result, row))
		crash_point(CRASH_staging_started);
	hook_set_add(&s->calls, call->hook);
}

static void staging_take_answered(struct db *db, PGresult *result, const struct err *e, void *arg)
{
	struct runner *r = arg;
	struct runner_staging *s = r->staging;

	(void)db;
	s->asking = false;
	hook_set_unreserve(&s->calls);
	if (!result) {
		runner_term_failed(
			r, "could not read from the database which functions of burst_buffer.lua are to be called; trying again",
			e);
		return;
	}
	s->waiting = PQntuples(result) > 0;
	if (!r->ready || s->term != r->term)
		return; /* not started: the database treats the calls of this answer as interrupted */
	for (int i = 0; i < PQntuples(result); i++)
		staging_apply(r, result, i);
	staging_exchange(r);
}

static void staging_take(struct runner *r)
{
	struct runner_staging *s = r->staging;
	struct db_array *have = hook_set_ids(&s->calls);
	char slots[16];

	snprintf(slots, sizeof slots, "%d", hook_set_reserve(&s->calls));
	s->asking = true;
	db_call(r->db, API_staging_take,
		(struct db_param[]){
			{r->term_text, -1}, {db_array_literal(have), -1}, {slots, -1}, {s->look ? "true" : "false", -1}},
		4, staging_take_answered, r);
	s->term = r->term;
	s->may_be_due = s->look = false;
	db_array_free(have);
}

/* Report ended calls of burst_buffer.lua, or else take new ones, unless a database call is under way. */
static void staging_exchange(struct runner *r)
{
	struct runner_staging *s = r->staging;

	if (!r->ready || s->asking || !db_is_up(r->db))
		return;
	if (s->calls.ended)
		staging_report(r);
	else if (s->look || (s->may_be_due && hook_set_room(&s->calls) > 0))
		staging_take(r);
}

void runner_staging_poll(struct runner *r, bool look)
{
	struct runner_staging *s = r->staging;

	if (!*r->conf->hooks_burst_buffer)
		return;
	s->may_be_due = true;
	s->look = s->look || look;
	staging_exchange(r);
}

bool runner_staging_reap(struct runner *r, pid_t pid)
{
	struct hook *h = hook_set_reap(&r->staging->calls, pid);

	if (!h)
		return false;
	staging_call_finish(h->about);
	crash_point(CRASH_staging_reaped);
	staging_exchange(r);
	return true;
}
