/* runner_term.c - leadership of the runner: one runnerd at a time runs hooks.
 *
 * Called by: runner.c on each beat; runner_poll.c and runner_mail.c when a call failed.
 * Invariants:
 * - Hooks run within a term only. When the term or the database connection is lost, they are killed at once.
 * - A new term waits RUNNER_PAUSE before its first hook, so that the hooks of the old term are gone.
 * - The leader's lease is longer than the time limit of a prolog or an epilog. So a leader that hangs, with an open connection,
 *   loses its term only after its prologs and epilogs have ended. Functions of burst_buffer.lua may run longer: they are killed
 *   when the leader runs again. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/log.h"
#include "runner/runner_parts.h"

enum {
	RUNNER_PAUSE = 500, /* pause before the first hook of a new term, in milliseconds */
	RUNNER_MARGIN = 10  /* seconds by which the leader's lease is longer than a hook's time limit */
};

void runner_term_end(struct runner *r, const char *why)
{
	if (r->term)
		log_info("stopped running prologs and epilogs: %s", why);
	hook_set_end(&r->hooks, &r->dying);
	r->term_ended(r);
	event_del(r->pause);
	event_del(r->poll_timer);
	r->term = 0;
	r->ready = false;
}

void runner_term_failed(struct runner *r, const char *what, const struct err *e)
{
	if (strcmp(e->code, "RT412") == 0)
		runner_term_end(r, e->message);
	else if (strncmp(e->code, "08", 2) != 0) /* runner_database_down() logs a lost connection */
		log_error("%s: %s %s", what, e->code, e->message);
}

void runner_term_pause(struct runner *r)
{
	event_add(r->pause, &(struct timeval){.tv_usec = RUNNER_PAUSE * 1000});
}

static void term_claim_answered(struct db *db, PGresult *result, const struct err *e, void *arg)
{
	struct runner *r = arg;
	int64_t term = 0;

	(void)db;
	r->claiming = false;
	if (!result) {
		runner_term_failed(r, "could not claim leadership for prologs and epilogs", e);
		return;
	}
	if (PQntuples(result) == 1 && !PQgetisnull(result, 0, 0))
		term = strtoll(PQgetvalue(result, 0, 0), NULL, 10);
	if (r->term && term != r->term)
		runner_term_end(r, "another runnerd leads");
	if (term && term != r->term) {
		r->term = term;
		snprintf(r->term_text, sizeof r->term_text, "%lld", (long long)term);
		log_info("running prologs and epilogs as leader of term %lld", (long long)term);
		runner_term_pause(r);
	}
}

void runner_term_claim(struct runner *r)
{
	char lease[16];

	if (r->claiming)
		return;
	r->claiming = true;
	snprintf(lease, sizeof lease, "%d", r->conf->controller_hook_timeout + RUNNER_MARGIN);
	db_call(r->db, API_leader_claim, (struct db_param[]){{"hook", -1}, {lease, -1}, {"false", -1}, {"false", -1}}, 4,
		term_claim_answered, r);
}
