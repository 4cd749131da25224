/* runner_power.c - runs the programs that power, boot and prepare nodes, and those that check nodes, and reports how they ended.
 *
 * Called by: runner.c on notifications, on each beat, when a process ended and at the end of a term.
 * Invariants:
 * - Programs run within a term only, so no two of them run for one node. A program whose end is not reported is run again in the
 *   next term.
 * - Programs that change nodes and programs that check nodes each have a process limit of their own, so neither waits for the
 *   other, and no other work of runnerd waits for them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "lib/crash.h"
#include "lib/err.h"
#include "lib/log.h"
#include "runner/power_start.h"
#include "runner/runner_parts.h"

/* A kind of programs: the api functions that take and report them, and the name of the kind in messages. */
static const struct power_kind {
	enum api_function take, report;
	const char *what;
} POWER_KINDS[] = {
	[RUNNER_CHANGES] = {API_power_take, API_power_report, "programs that change nodes"},
	[RUNNER_CHECKS] = {API_check_take, API_check_report, "checks of nodes"},
};

struct runner_power {
	struct runner *runner;
	const struct power_kind *kind;
	struct hook_set programs;
	bool asking;	 /* a call of the database is under way */
	bool may_be_due; /* the database may have programs to run */
	int64_t term;	 /* term of this runnerd when the database was asked */
};

struct runner_power *runner_power_new(struct runner *r, enum runner_power_kind kind)
{
	struct runner_power *p = xcalloc(1, sizeof *p);

	p->runner = r;
	p->kind = &POWER_KINDS[kind];
	hook_set_open(&p->programs, &r->bound, kind == RUNNER_CHECKS ? r->conf->hooks_check_calls : r->conf->hooks_power_calls);
	return p;
}

void runner_power_free(struct runner_power *p)
{
	hook_set_free(&p->programs);
	free(p);
}

void runner_power_end(struct runner_power *p)
{
	hook_set_end(&p->programs, &p->runner->dying);
	p->may_be_due = false;
}

bool runner_power_busy(const struct runner_power *p)
{
	return hook_set_is_busy(&p->programs);
}

static void power_exchange(struct runner_power *p);

/* Called when a database call has failed; the next heartbeat repeats it. */
static void power_failed(struct runner_power *p, const char *verb, const struct err *e)
{
	char what[120];

	snprintf(what, sizeof what, "could not %s %s in the database; trying again", verb, p->kind->what);
	runner_term_failed(p->runner, what, e);
}

static void power_report_answered(struct db *db, PGresult *result, const struct err *e, void *arg)
{
	struct runner_power *p = arg;

	(void)db;
	p->asking = false;
	hook_set_reported(&p->programs, result != NULL);
	if (result) {
		p->may_be_due = true; /* the node may have a next program, for example to be powered on again */
		power_exchange(p);
	} else { /* the next heartbeat reports these programs again */
		power_failed(p, "report", e);
	}
}

static void power_report(struct runner_power *p)
{
	enum { IDS, CODES, FAILURES, OUTPUTS, COLUMNS };
	struct db_array *columns[COLUMNS];
	struct db_param params[COLUMNS + 1] = {{p->runner->term_text, -1}};

	for (int i = 0; i < COLUMNS; i++)
		columns[i] = db_array_new();
	for (const struct hook *h = p->programs.ended; h; h = h->next) {
		char code[16];

		snprintf(code, sizeof code, "%d", WEXITSTATUS(h->status));
		db_array_int(columns[IDS], h->id);
		db_array_text(columns[CODES], h->ran_us >= 0 && WIFEXITED(h->status) ? code : NULL);
		db_array_text(columns[FAILURES], *h->message ? h->message : NULL);
		db_array_text(columns[OUTPUTS], h->tail);
	}
	for (int i = 0; i < COLUMNS; i++)
		params[i + 1] = (struct db_param){db_array_literal(columns[i]), -1};
	hook_set_report(&p->programs);
	p->asking = true;
	db_call(p->runner->db, p->kind->report, params, COLUMNS + 1, power_report_answered, p);
	for (int i = 0; i < COLUMNS; i++)
		db_array_free(columns[i]);
}

static void power_take_answered(struct db *db, PGresult *result, const struct err *e, void *arg)
{
	struct runner_power *p = arg;

	(void)db;
	p->asking = false;
	hook_set_unreserve(&p->programs);
	if (!result) {
		power_failed(p, "read", e);
		return;
	}
	if (!p->runner->ready || p->term != p->runner->term)
		return; /* not started: the next call of this or another runnerd gets these programs again */
	for (int i = 0; i < PQntuples(result); i++) {
		struct hook *h = power_start(p->runner->base, p->runner->conf, result, i);

		hook_set_add(&p->programs, h);
		if (!h->pid)
			continue;
		log_info("%s began", h->label);
		crash_point(CRASH_power_started);
	}
	power_exchange(p);
}

static void power_take(struct runner_power *p)
{
	struct db_array *have = hook_set_ids(&p->programs);
	char slots[16];

	snprintf(slots, sizeof slots, "%d", hook_set_reserve(&p->programs));
	p->asking = true;
	p->may_be_due = false;
	p->term = p->runner->term;
	db_call(p->runner->db, p->kind->take,
		(struct db_param[]){{p->runner->term_text, -1}, {db_array_literal(have), -1}, {slots, -1}}, 3,
		power_take_answered, p);
	db_array_free(have);
}

/* Report ended programs, or else take new ones, unless a database call is under way. */
static void power_exchange(struct runner_power *p)
{

	if (!p->runner->ready || p->asking || !db_is_up(p->runner->db))
		return;
	if (p->programs.ended)
		power_report(p);
	else if (p->may_be_due && hook_set_room(&p->programs) > 0)
		power_take(p);
}

void runner_power_poll(struct runner_power *p)
{
	p->may_be_due = true;
	power_exchange(p);
}

bool runner_power_reap(struct runner_power *p, pid_t pid)
{
	if (!hook_set_reap(&p->programs, pid))
		return false;
	crash_point(CRASH_power_reaped);
	power_exchange(p);
	return true;
}
