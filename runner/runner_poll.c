/* runner_poll.c - polls the database: one call reports all ended hooks, another takes hooks that are due, twice as many as may
 * run at once. The others wait in the runner, so no slot is idle while the database answers.
 *
 * Called by: runner.c on notifications, on the end of hooks and on each beat.
 * Invariants:
 * - One poll is under way at a time.
 * - While hooks run, the pause between two polls is as long as the database took for the last poll, up to POLL_GAP_MOST. Hooks
 *   that end in the pause are reported together, so a busy database gets fewer and larger calls. While no hook runs, or more
 *   hooks are due and few wait in the runner, there is no pause. */
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "lib/clock.h"
#include "lib/log.h"
#include "runner/runner_parts.h"

enum { POLL_GAP_MOST = 50 * 1000 }; /* longest pause between two polls, in microseconds */

static void poll_answered(struct runner *r)
{
	if (--r->answers_pending == 0)
		runner_poll(r);
}

static void poll_report_answered(struct db *db, PGresult *result, const struct err *e, void *arg)
{
	struct runner *r = arg;

	(void)db;
	r->poll_us = clock_boot_us() - r->polled_at_us;
	hook_set_reported(&r->hooks, result != NULL);
	if (!result)
		runner_term_failed(r, "could not report ended prologs and epilogs to the database; trying again", e);
	poll_answered(r);
}

static void array_add_number(struct db_array *array, bool known, int64_t number)
{
	char text[24];

	snprintf(text, sizeof text, "%lld", (long long)number);
	db_array_text(array, known ? text : NULL);
}

static void poll_report(struct runner *r)
{
	enum { IDS, EXITS, SIGNALS, USECS, MESSAGES, OUTPUTS, COLUMNS };
	struct db_array *columns[COLUMNS];
	struct db_param params[COLUMNS + 1] = {{r->term_text, -1}};

	for (int i = 0; i < COLUMNS; i++)
		columns[i] = db_array_new();
	for (const struct hook *h = r->hooks.ended; h; h = h->next) {
		bool ran = h->ran_us >= 0;

		db_array_int(columns[IDS], h->id);
		array_add_number(columns[EXITS], ran && WIFEXITED(h->status) && !(*h->message && WEXITSTATUS(h->status) == 0),
				 WEXITSTATUS(h->status));
		array_add_number(columns[SIGNALS], ran && WIFSIGNALED(h->status), WTERMSIG(h->status));
		array_add_number(columns[USECS], ran, h->ran_us);
		db_array_text(columns[MESSAGES], *h->message ? h->message : NULL);
		db_array_text(columns[OUTPUTS], h->tail);
	}
	for (int i = 0; i < COLUMNS; i++)
		params[i + 1] = (struct db_param){db_array_literal(columns[i]), -1};
	hook_set_report(&r->hooks);
	db_call(r->db, API_hook_report, params, COLUMNS + 1, poll_report_answered, r);
	for (int i = 0; i < COLUMNS; i++)
		db_array_free(columns[i]);
}

static void poll_take_answered(struct db *db, PGresult *result, const struct err *e, void *arg)
{
	struct runner *r = arg;

	(void)db;
	r->poll_us = clock_boot_us() - r->polled_at_us;
	if (!result) {
		runner_term_failed(r, "could not read prologs and epilogs to run from the database; trying again", e);
	} else if (r->ready) {
		for (int i = 0; i < PQntuples(result); i++)
			runner_child_apply(r, result, i);
		/* the answer may lack hooks that are due: poll again */
		r->may_be_due = r->may_be_due || PQntuples(result) > 0;
		r->more_is_due = PQntuples(result) >= r->asked;
		runner_child_start(r);
	} else
		r->may_be_due = true;
	poll_answered(r);
}

/* Returns how many hooks may run at once, given the programs of other kinds that run now. */
static int poll_slots(const struct runner *r)
{
	return r->hooks.running_count + hook_set_room(&r->hooks);
}

/* Returns how many more hooks to take from the database: as many as may run at once may run, and the same number may wait. */
static int poll_capacity(const struct runner *r)
{
	int capacity = 2 * poll_slots(r) - r->hooks.running_count - r->hooks.waiting_count;

	return capacity > 0 ? capacity : 0;
}

static void poll_take(struct runner *r)
{
	struct db_array *have = hook_set_ids(&r->hooks);
	char capacity[16];

	r->asked = poll_capacity(r);
	snprintf(capacity, sizeof capacity, "%d", r->asked);
	db_call(r->db, API_hook_take,
		(struct db_param[]){{r->term_text, -1},
				    {db_array_literal(have), -1},
				    {capacity, -1},
				    {r->check_running ? "true" : "false", -1}},
		4, poll_take_answered, r);
	r->may_be_due = r->check_running = false;
	db_array_free(have);
}

static void poll_begin(struct runner *r)
{
	bool take = r->check_running || (r->may_be_due && poll_capacity(r) > 0);

	r->polled_at_us = clock_boot_us();
	r->answers_pending = (r->hooks.ended != NULL) + take;
	if (r->hooks.ended)
		poll_report(r);
	if (take)
		poll_take(r);
}

void runner_poll_timer(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	runner_poll(arg);
}

/* Returns true if slots would be idle if the next poll came only after a pause. */
static bool poll_is_short(const struct runner *r)
{
	return !r->hooks.running || (r->more_is_due && r->hooks.waiting_count < poll_slots(r) / 2);
}

/* Begin a poll, if hooks are to be reported or taken, now or when the pause after the last poll is over. */
static void poll_begin_due(struct runner *r)
{
	int64_t gap = r->poll_us < POLL_GAP_MOST ? r->poll_us : POLL_GAP_MOST;
	int64_t wait = poll_is_short(r) ? 0 : r->polled_at_us + r->poll_us + gap - clock_boot_us();

	if (r->answers_pending > 0 || !db_is_up(r->db) ||
	    !(r->hooks.ended || r->check_running || (r->may_be_due && poll_capacity(r) > 0)))
		return;
	if (wait <= 0)
		poll_begin(r);
	else if (!evtimer_pending(r->poll_timer, NULL))
		event_add(r->poll_timer, &(struct timeval){.tv_usec = wait});
}

void runner_poll(struct runner *r)
{
	if (!r->ready)
		return;
	poll_begin_due(r); /* first, so the database works while programs start */
	runner_child_start(r);
}
