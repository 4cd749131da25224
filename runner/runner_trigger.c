/* runner_trigger.c - takes deliveries of triggers from the database, has each made by a program, and reports the outcome.
 *
 * Called by: runner.c on each beat, for the notification rota_trigger, and when a process ended.
 * Invariants:
 * - A delivery is made at least once: api.trigger_take() returns it again after a time, until its outcome is reported.
 * - Deliveries need no term. A delivery that runs continues when the connection is lost, and its outcome is reported later.
 * - Deliveries have a process limit of their own, so hooks and mail do not wait for them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/clock.h"
#include "lib/crash.h"
#include "lib/err.h"
#include "runner/runner_parts.h"
#include "runner/trigger_start.h"

/* Seconds after which an answer of api.trigger_take() is dropped, less than the margin of 10 s in that function: later, another
 * runnerd may have taken the same deliveries. */
enum { TRIGGER_STALE = 5 };

struct runner_trigger {
	struct hook_set deliveries;
	bool taking;	     /* a call of api.trigger_take() is under way */
	bool may_be_due;     /* the database may have deliveries to take */
	bool look;	     /* the next call also checks triggers on the length of the queue */
	int64_t asked_at_us; /* last call of api.trigger_take(), as time since boot */
};

struct runner_trigger *runner_trigger_new(struct runner *r)
{
	struct runner_trigger *t = xcalloc(1, sizeof *t);

	hook_set_open(&t->deliveries, &r->bound, r->conf->hooks_triggers);
	return t;
}

void runner_trigger_free(struct runner_trigger *t)
{
	hook_set_free(&t->deliveries);
	free(t);
}

bool runner_trigger_busy(const struct runner *r)
{
	return hook_set_is_busy(&r->trigger->deliveries);
}

static void trigger_report_answered(struct db *db, PGresult *result, const struct err *e, void *arg)
{
	struct runner *r = arg;

	(void)db;
	hook_set_reported(&r->trigger->deliveries, result != NULL);
	if (result) {
		runner_trigger_poll(r, false); /* take the next delivery of the same trigger */
	} else {			       /* the next heartbeat reports these deliveries again */
		runner_term_failed(r, "could not report deliveries of triggers to the database; trying again", e);
	}
}

static void trigger_report(struct runner *r)
{
	struct runner_trigger *t = r->trigger;
	struct db_array *runs = db_array_new(), *codes = db_array_new(), *failures = db_array_new(), *outputs = db_array_new();

	for (const struct hook *h = t->deliveries.ended; h; h = h->next) {
		int code;
		char *failure = trigger_outcome(h, &code), number[16];

		snprintf(number, sizeof number, "%d", code);
		db_array_int(runs, h->id);
		db_array_text(codes, code < 0 ? NULL : number);
		db_array_text(failures, failure);
		db_array_text(outputs, h->tail);
		free(failure);
	}
	hook_set_report(&t->deliveries);
	db_call(r->db, API_trigger_report,
		(struct db_param[]){{db_array_literal(runs), -1},
				    {db_array_literal(codes), -1},
				    {db_array_literal(failures), -1},
				    {db_array_literal(outputs), -1}},
		4, trigger_report_answered, r);
	db_array_free(runs);
	db_array_free(codes);
	db_array_free(failures);
	db_array_free(outputs);
}

static void trigger_exchange(struct runner *r);

static void trigger_take_answered(struct db *db, PGresult *result, const struct err *e, void *arg)
{
	struct runner *r = arg;
	struct runner_trigger *t = r->trigger;

	(void)db;
	t->taking = false;
	hook_set_unreserve(&t->deliveries);
	if (!result) {
		runner_term_failed(r, "could not read deliveries of triggers from the database; trying again", e);
		return;
	}
	if (clock_boot_us() - t->asked_at_us > TRIGGER_STALE * 1000000LL)
		return;
	for (int i = 0; i < PQntuples(result); i++)
		hook_set_add(&t->deliveries, trigger_start(r->base, r->conf, result, i));
	trigger_exchange(r);
}

static void trigger_take(struct runner *r)
{
	struct runner_trigger *t = r->trigger;
	char slots[16], timeout[16];

	snprintf(slots, sizeof slots, "%d", hook_set_reserve(&t->deliveries));
	snprintf(timeout, sizeof timeout, "%d", r->conf->hooks_trigger_timeout);
	t->taking = true;
	t->may_be_due = false;
	t->asked_at_us = clock_boot_us();
	db_call(r->db, API_trigger_take, (struct db_param[]){{slots, -1}, {timeout, -1}, {t->look ? "t" : "f", -1}}, 3,
		trigger_take_answered, r);
	t->look = false;
}

/* Report ended deliveries of triggers and take new ones, unless a database call is under way. */
static void trigger_exchange(struct runner *r)
{
	struct runner_trigger *t = r->trigger;

	if (!db_is_up(r->db))
		return;
	if (t->deliveries.ended && !t->deliveries.reporting)
		trigger_report(r);
	if (t->may_be_due && !t->taking && hook_set_room(&t->deliveries) > 0)
		trigger_take(r);
}

void runner_trigger_poll(struct runner *r, bool look)
{
	r->trigger->may_be_due = true;
	r->trigger->look |= look;
	trigger_exchange(r);
}

bool runner_trigger_reap(struct runner *r, pid_t pid)
{
	if (!hook_set_reap(&r->trigger->deliveries, pid))
		return false;
	crash_point(CRASH_trigger_reaped);
	trigger_exchange(r);
	return true;
}
