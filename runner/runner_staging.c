/* runner_staging.c - calls of functions of burst_buffer.lua: takes them from the database, runs them, and reports how they ended.
 *
 * Called by: runner.c on notifications, on each beat, when a process ended and at the end of a term.
 * Invariants:
 * - Calls run within a term only, the same as that of prologs and epilogs.
 * - A call is in one of the lists from the row that named it until its end is in the database. The database takes a call that has
 *   begun and that the runner does not have for interrupted.
 * - One call of the database is under way at a time: a report comes before what follows from it is taken. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/clock.h"
#include "lib/crash.h"
#include "lib/log.h"
#include "runner/runner_parts.h"

struct runner_staging {
	struct staging_call *running, *ended;
	struct staging_call *reporting; /* calls whose report to the database is under way */
	struct staging_call *dying;	/* calls of an old term that are killed but not reaped yet */
	int running_count;
	bool asking;	     /* a call of the database is under way */
	bool may_be_due;     /* the database may have calls to take */
	bool look;	     /* calls that run may not be wanted any more */
	bool waiting;	     /* the latest answer was about some job, so more may follow soon */
	int64_t term;	     /* term in which the database was asked */
	struct event *again; /* the next poll of a function that is busy is due */
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

	s->again = evtimer_new(r->base, staging_again, r);
	return s;
}

static void list_free(struct staging_call **list)
{
	for (struct staging_call *call; (call = *list);) {
		*list = call->next;
		staging_call_free(call);
	}
}

static void list_add(struct staging_call **list, struct staging_call *call)
{
	call->next = *list;
	*list = call;
}

/* Remove the call with this process from the list and return it; NULL: the list has none. */
static struct staging_call *list_take(struct staging_call **list, pid_t pid)
{
	struct staging_call *call;

	while (*list && (*list)->hook->pid != pid)
		list = &(*list)->next;
	call = *list;
	if (call)
		*list = call->next;
	return call;
}

void runner_staging_free(struct runner_staging *s)
{
	list_free(&s->running);
	list_free(&s->ended);
	list_free(&s->reporting);
	list_free(&s->dying);
	event_free(s->again);
	free(s);
}

void runner_staging_end(struct runner *r)
{
	struct runner_staging *s = r->staging;

	while (s->running) {
		struct staging_call *call = s->running;

		hook_kill(call->hook, "was killed because its runnerd lost the leadership");
		s->running = call->next;
		list_add(&s->dying, call);
	}
	list_free(&s->ended);
	list_free(&s->reporting);
	s->running_count = 0;
	s->may_be_due = false;
}

bool runner_staging_busy(const struct runner *r)
{
	const struct runner_staging *s = r->staging;

	return s->running || s->ended || s->reporting || s->waiting;
}

static void staging_exchange(struct runner *r);

static void staging_report_answered(struct db *db, PGresult *result, const struct err *e, void *arg)
{
	struct runner *r = arg;
	struct runner_staging *s = r->staging;

	(void)db;
	s->asking = false;
	if (result) {
		list_free(&s->reporting);
		s->may_be_due = true;
	} else {
		struct staging_call **end = &s->ended;

		while (*end)
			end = &(*end)->next;
		*end = s->reporting;
		s->reporting = NULL;
		runner_term_failed(r, "could not report functions of burst_buffer.lua to the database; trying again", e);
		return; /* the next beat tries again */
	}
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
	for (const struct staging_call *call = s->ended; call; call = call->next) {
		db_array_int(columns[IDS], call->id);
		column_number(columns[RCS], call->rc > -2, call->rc);
		db_array_text(columns[BUSY], call->busy ? "true" : "false");
		if (call->busy && !evtimer_pending(s->again, NULL))
			event_add(s->again, &(struct timeval){.tv_sec = r->conf->hooks_poll_interval, .tv_usec = 1000});
		column_number(columns[USECS], call->hook->ran_us >= 0, call->hook->ran_us);
		db_array_text(columns[MESSAGES], call->message);
		db_array_text(columns[OUTPUTS], call->hook->tail);
		db_array_text(columns[RESULTS], call->answer);
	}
	for (int i = 0; i < COLUMNS; i++)
		params[i + 1] = (struct db_param){db_array_literal(columns[i]), -1};
	snprintf(poll, sizeof poll, "%d", r->conf->hooks_poll_interval);
	params[COLUMNS + 1] = (struct db_param){poll, -1};
	params[COLUMNS + 2] = (struct db_param){strcmp(r->conf->hooks_teardown_failure, "on") == 0 ? "true" : "false", -1};
	s->reporting = s->ended;
	s->ended = NULL;
	s->asking = true;
	db_call(r->db, API_staging_report, params, COLUMNS + 3, staging_report_answered, r);
	for (int i = 0; i < COLUMNS; i++)
		db_array_free(columns[i]);
}

static struct staging_call *list_find(struct staging_call *list, int64_t id)
{
	while (list && list->id != id)
		list = list->next;
	return list;
}

/* Start or stop the call that a row of api.staging_take names. */
static void staging_apply(struct runner *r, const PGresult *result, int row)
{
	static const char unwanted[] = "was killed or was not run: it is not wanted any more";
	struct runner_staging *s = r->staging;
	int64_t id = strtoll(db_text(result, row, "call_id"), NULL, 10);
	bool wanted = *db_text(result, row, "wanted") == 't';
	struct staging_call *call = list_find(s->running, id);

	if (call && !wanted)
		hook_stop(call->hook, unwanted);
	if (call || list_find(s->ended, id)) /* it may have ended since the database was asked */
		return;
	call = staging_call_new(r, result, row);
	if (wanted && staging_call_start(call, r, result, row)) {
		list_add(&s->running, call);
		s->running_count++;
		crash_point(CRASH_staging_started);
		return;
	}
	if (!wanted)
		call->message = xstrdup(unwanted);
	list_add(&s->ended, call);
}

static void staging_take_answered(struct db *db, PGresult *result, const struct err *e, void *arg)
{
	struct runner *r = arg;
	struct runner_staging *s = r->staging;

	(void)db;
	s->asking = false;
	if (!result) {
		runner_term_failed(r, "could not read functions of burst_buffer.lua to call from the database; trying again", e);
		return;
	}
	s->waiting = PQntuples(result) > 0;
	if (!r->ready || s->term != r->term)
		return; /* the database takes the calls of this answer for interrupted */
	for (int i = 0; i < PQntuples(result); i++)
		staging_apply(r, result, i);
	staging_exchange(r);
}

static void staging_take(struct runner *r)
{
	struct runner_staging *s = r->staging;
	struct db_array *have = db_array_new();
	char slots[16];

	for (const struct staging_call *call = s->running; call; call = call->next)
		db_array_int(have, call->id);
	snprintf(slots, sizeof slots, "%d", r->conf->hooks_stage_calls - s->running_count);
	s->asking = true;
	db_call(r->db, API_staging_take,
		(struct db_param[]){
			{r->term_text, -1}, {db_array_literal(have), -1}, {slots, -1}, {s->look ? "true" : "false", -1}},
		4, staging_take_answered, r);
	s->term = r->term;
	s->may_be_due = s->look = false;
	db_array_free(have);
}

/* Report ended calls, or else take new ones, unless the database is being asked. */
static void staging_exchange(struct runner *r)
{
	struct runner_staging *s = r->staging;

	if (!r->ready || s->asking || !db_is_up(r->db))
		return;
	if (s->ended)
		staging_report(r);
	else if (s->look || (s->may_be_due && s->running_count < r->conf->hooks_stage_calls))
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
	struct runner_staging *s = r->staging;
	struct staging_call *call = list_take(&s->running, pid);

	if (call) {
		s->running_count--;
		hook_reap(call->hook);
		staging_call_finish(call);
		crash_point(CRASH_staging_reaped);
		list_add(&s->ended, call);
		staging_exchange(r);
		return true;
	}
	call = list_take(&s->dying, pid);
	if (!call)
		return false;
	hook_reap(call->hook);
	staging_call_free(call);
	return true;
}
