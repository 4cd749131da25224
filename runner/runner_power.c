/* runner_power.c - runs the programs that power, boot and prepare nodes, and reports how they ended.
 *
 * Called by: runner.c on notifications, on each beat, when a process ended and at the end of a term.
 * Invariants:
 * - Programs run within a term only, so no two of them run for one node. One that is not reported is run again by the next term.
 * - They have a limit of processes of their own, so hooks and mail do not wait for them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "lib/crash.h"
#include "lib/err.h"
#include "lib/log.h"
#include "runner/power_start.h"
#include "runner/runner_parts.h"

struct runner_power {
	struct hook_set programs;
	bool asking;	 /* a call of the database is under way */
	bool may_be_due; /* the database may have programs to run */
	int64_t term;	 /* term in which the database was asked */
};

struct runner_power *runner_power_new(void)
{
	return xcalloc(1, sizeof(struct runner_power));
}

void runner_power_free(struct runner_power *p)
{
	hook_set_free(&p->programs);
	free(p);
}

void runner_power_end(struct runner *r)
{
	hook_set_end(&r->power->programs, &r->dying);
	r->power->may_be_due = false;
}

bool runner_power_busy(const struct runner *r)
{
	return hook_set_is_busy(&r->power->programs);
}

static void power_exchange(struct runner *r);

static void power_report_answered(struct db *db, PGresult *result, const struct err *e, void *arg)
{
	struct runner *r = arg;
	struct runner_power *p = r->power;

	(void)db;
	p->asking = false;
	hook_set_reported(&p->programs, result != NULL);
	if (result) {
		p->may_be_due = true; /* a node may be needed again at once */
		power_exchange(r);
	} else { /* the next beat reports these again */
		runner_term_failed(r, "could not report programs that change nodes to the database; trying again", e);
	}
}

static void power_report(struct runner *r)
{
	enum { IDS, CODES, FAILURES, OUTPUTS, COLUMNS };
	struct runner_power *p = r->power;
	struct db_array *columns[COLUMNS];
	struct db_param params[COLUMNS + 1] = {{r->term_text, -1}};

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
	db_call(r->db, API_power_report, params, COLUMNS + 1, power_report_answered, r);
	for (int i = 0; i < COLUMNS; i++)
		db_array_free(columns[i]);
}

static void power_take_answered(struct db *db, PGresult *result, const struct err *e, void *arg)
{
	struct runner *r = arg;
	struct runner_power *p = r->power;

	(void)db;
	p->asking = false;
	if (!result) {
		runner_term_failed(r, "could not read programs that change nodes from the database; trying again", e);
		return;
	}
	if (!r->ready || p->term != r->term)
		return; /* the next call of this or another runnerd has them again */
	for (int i = 0; i < PQntuples(result); i++) {
		struct hook *h = power_start(r->base, r->conf, result, i);

		hook_set_add(&p->programs, h);
		if (!h->pid)
			continue;
		log_info("%s began", h->label);
		crash_point(CRASH_power_started);
	}
	power_exchange(r);
}

static void power_take(struct runner *r)
{
	struct runner_power *p = r->power;
	struct db_array *have = hook_set_ids(&p->programs);
	char slots[16];

	snprintf(slots, sizeof slots, "%d", r->conf->hooks_power_calls - p->programs.running_count);
	p->asking = true;
	p->may_be_due = false;
	p->term = r->term;
	db_call(r->db, API_power_take, (struct db_param[]){{r->term_text, -1}, {db_array_literal(have), -1}, {slots, -1}}, 3,
		power_take_answered, r);
	db_array_free(have);
}

/* Report ended programs, or else take new ones, unless the database is being asked. */
static void power_exchange(struct runner *r)
{
	struct runner_power *p = r->power;

	if (!r->ready || p->asking || !db_is_up(r->db))
		return;
	if (p->programs.ended)
		power_report(r);
	else if (p->may_be_due && p->programs.running_count < r->conf->hooks_power_calls)
		power_take(r);
}

void runner_power_poll(struct runner *r)
{
	r->power->may_be_due = true;
	power_exchange(r);
}

bool runner_power_reap(struct runner *r, pid_t pid)
{
	if (!hook_set_reap(&r->power->programs, pid))
		return false;
	crash_point(CRASH_power_reaped);
	power_exchange(r);
	return true;
}
