/* lead.c - claims leadership, and runs scheduling cycles while this jobmgrd leads.
 *
 * Called by: bin/jobmgrd.c.
 * Invariants:
 *  - The database ties a term to this connection: a lost connection ends the term and drops all cached data.
 *  - One cycle runs at a time.
 *  - The leader renews its claim at least LEAD_RENEWALS times within its lease; other daemons try every LEAD_CLAIM_MS. A daemon
 *    that was frozen may see late that it was deposed: the database rejects calls of an old term (sql/schedule/leader.sql).
 *  - Cycles never spin: a cycle follows at once only after one that moved steps out of `pending`, after a notification, or if
 *    starts were postponed. Cycles in a row that move no step wait LEAD_GAP_MS more each time, after the first LEAD_IDLE_FREE.
 *  - A start that fails stops no other start: after LEAD_TRIES failures in a row each start is committed on its own.
 *  - A locked job stops no other job: its steps are skipped until the job is unlocked. A timer runs the next cycle. */
#include "jobmgr/lead/lead.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "jobmgr/lead/lead_cycle.h"
#include "jobmgr/lead/lead_lower_priority.h"
#include "lib/clock.h"
#include "lib/db.h"
#include "lib/err.h"
#include "lib/log.h"
#include "lib/session.h"

enum {
	LEAD_CLAIM_MS = 250,	  /* time between claims of leadership by a daemon that does not lead */
	LEAD_RENEWALS = 3,	  /* least number of claims by which the leader renews its lease within one lease */
	LEAD_BEAT_MOST_MS = 1000, /* longest time between two heartbeats, whatever the lease */
	/* most repetitions of a cycle, at once, after the database refused it because its data was stale */
	LEAD_TRIES = 3,
	LEAD_DELAY_MOST_S = 30,	  /* longest time between repetitions of a cycle after other errors */
	LEAD_LOOK_AGAIN_MS = 300, /* time until the next cycle if the write of the plan was postponed or jobs were locked */
	/* idle cycles in a row without a gap: a step that starts and ends causes as many notifications */
	LEAD_IDLE_FREE = 4,
	LEAD_GAP_MS = 5, /* gap added for each further idle cycle in a row */
	LEAD_GAP_MOST_MS = 100,
	LEAD_TOOK_SHARE = 3 /* the gap after a cycle that moved steps is the duration of the cycle divided by this */
};

static const double session_period = 0.9; /* least seconds between two checks of the sessions of daemons and readers */
static const double register_period = 10; /* seconds between two registrations of this daemon in the database */

struct lead {
	struct event_base *base;
	const struct conf *conf;
	char *name;
	struct db *db;
	struct db_watcher watcher;
	struct lead_cycle *cycle;
	struct event *heartbeat;   /* timer: claims, checks sessions, registers, and starts the cycle of an idle leader */
	struct event *cycle_timer; /* timer that starts the next cycle */
	void (*changed)(bool leader, void *arg);
	void *arg;
	int64_t term;	  /* the leader's term; 0: this daemon does not lead */
	bool claiming;	  /* a claim of leadership is not answered yet */
	bool notified;	  /* a notification came since the last cycle began */
	bool one_by_one;  /* the next cycle commits each start on its own, because one of this cycle's commits failed */
	bool skip_locked; /* the next cycle leaves out the steps of locked jobs, because some jobs stay locked */
	int failures;	  /* number of cycles in a row that failed */
	int idle;	  /* number of cycles in a row that moved no step out of `pending` */
	/* no timer is set for the next cycle: only the heartbeat or a notification starts it */
	bool resting;
	double began_at, ended_at; /* begin and end of the last cycle, in monotonic seconds */
	/* time of the last check of sessions, and of the last registration, in monotonic seconds */
	double sessions_at, registered_at;
};

static void lead_start_cycle(struct lead *lead)
{
	event_del(lead->cycle_timer);
	lead->resting = false;
	lead->notified = false;
	lead->began_at = clock_seconds();
	lead_cycle_run(lead->cycle, lead->term,
		       lead->one_by_one	   ? LEAD_ONE_BY_ONE
		       : lead->skip_locked ? LEAD_SKIP_LOCKED
					   : LEAD_TOGETHER);
}

static void lead_cycle_due(evutil_socket_t fd, short what, void *arg)
{
	struct lead *lead = arg;

	(void)fd;
	(void)what;
	if (lead->term && !lead_cycle_is_running(lead->cycle))
		lead_start_cycle(lead);
}

/* Set the timer of the next cycle. A cycle that is due after schedule.period or later is left to the heartbeat: an idle leader
 * has one timer. */
static void lead_set_timer(struct lead *lead, double seconds)
{
	struct timeval wait;

	lead->resting = seconds >= lead->conf->schedule_period;
	if (lead->resting) {
		event_del(lead->cycle_timer);
		return;
	}
	if (seconds < 0)
		seconds = 0;
	wait.tv_sec = (time_t)seconds;
	wait.tv_usec = (suseconds_t)((seconds - (double)wait.tv_sec) * 1e6);
	event_add(lead->cycle_timer, &wait);
}

/* Start another cycle after a short gap. After a cycle that moved steps, the gap is a share of the cycle's duration, so a busy
 * database gets fewer and larger cycles. After idle cycles the gap grows. */
static void lead_set_gap(struct lead *lead)
{
	int idle = lead->idle > LEAD_IDLE_FREE ? lead->idle - LEAD_IDLE_FREE : 0;
	double took = lead->idle == 0 ? lead->ended_at - lead->began_at : 0, gap = idle * LEAD_GAP_MS / 1000.0;

	if (gap < took / LEAD_TOOK_SHARE)
		gap = took / LEAD_TOOK_SHARE;
	if (gap > LEAD_GAP_MOST_MS / 1000.0)
		gap = LEAD_GAP_MOST_MS / 1000.0;
	lead_set_timer(lead, lead->ended_at + gap - clock_seconds());
}

static void lead_set_heartbeat(struct lead *lead)
{
	long wait = lead->term ? lead->conf->schedule_lease * 1000L / LEAD_RENEWALS : LEAD_CLAIM_MS;

	if (wait > LEAD_BEAT_MOST_MS)
		wait = LEAD_BEAT_MOST_MS;
	event_add(lead->heartbeat, &(struct timeval){.tv_sec = wait / 1000, .tv_usec = wait % 1000 * 1000});
}

static void lead_drop_term(struct lead *lead, const char *why)
{
	if (lead->term) {
		log_info("leadership of term %lld ended: %s", (long long)lead->term, why);
		lead->term = 0;
		lead->changed(false, lead->arg);
		lead_set_heartbeat(lead);
	}
	event_del(lead->cycle_timer);
	lead->resting = false;
	lead->notified = false;
	lead->failures = 0;
	lead->one_by_one = false;
	lead->skip_locked = false;
	lead->idle = 0;
	lead_cycle_reset(lead->cycle);
}

/* Is the error one of the connection? database_down() is called after such errors and logs them. */
static bool is_connection_error(const struct err *e)
{
	return strncmp(e->code, "08", 2) == 0;
}

/* Does the error (unique or check violation, serialization failure, deadlock) mean that the cycle's data may be stale? Then a
 * cycle that reads again may succeed. */
static bool is_stale_error(const struct err *e)
{
	static const char *const codes[] = {"23505", "23514", "40001", "40P01"};

	for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
		if (strcmp(e->code, codes[i]) == 0)
			return true;
	}
	return false;
}

static void lead_handle_failure(struct lead *lead, const struct err *e)
{
	int delay;

	if (strcmp(e->code, "RT412") == 0) {
		lead_drop_term(lead, e->message);
		return;
	}
	if (is_connection_error(e))
		return;
	if (!lead->skip_locked && strcmp(e->code, "55P03") == 0) {
		log_debug("scheduling cycle repeated without the jobs that other sessions have locked, after the error: %s",
			  e->message);
		lead->skip_locked = true;
		lead_set_timer(lead, 0);
		return;
	}
	lead->one_by_one = ++lead->failures >= LEAD_TRIES;
	if (is_stale_error(e) && lead->failures <= LEAD_TRIES) {
		log_debug("scheduling cycle repeated, since its data was stale, after the error: %s %s", e->code, e->message);
		lead_set_timer(lead, 0);
		return;
	}
	delay = lead->failures < LEAD_DELAY_MOST_S ? lead->failures : LEAD_DELAY_MOST_S;
	log_error("scheduling cycle failed, next try in %d s: %s %s", delay, e->code, e->message);
	lead_set_timer(lead, delay);
}

/* Set the time of the next cycle by the outcome of the one that has ended. */
static void lead_cycle_ended(const struct lead_outcome *outcome, void *arg)
{
	struct lead *lead = arg;

	lead->ended_at = clock_seconds();
	if (!lead->term)
		return;
	if (!outcome->good) {
		lead_handle_failure(lead, &outcome->e);
		return;
	}
	lead->failures = 0;
	lead->one_by_one = outcome->partial_failure;
	lead->skip_locked = outcome->skipped_locked;
	lead->idle = outcome->moved > 0 ? 0 : lead->idle + 1;
	if (outcome->moved > 0 || outcome->postponed || lead->notified)
		lead_set_gap(lead);
	else if (outcome->plan_postponed || outcome->skipped_locked)
		lead_set_timer(lead, LEAD_LOOK_AGAIN_MS / 1000.0);
	else /* retry a timer-driven transition that is overdue after a second */
		lead_set_timer(lead, fmin(outcome->transition_in > 0 ? outcome->transition_in : 1, outcome->full_scan_in));
}

static void lead_win(struct lead *lead, int64_t term)
{
	lead->term = term;
	log_info("this jobmgrd is the leader of term %lld", (long long)term);
	lead->changed(true, lead->arg);
	lead_set_heartbeat(lead);
	lead_set_timer(lead, 0);
}

static void claim_answered(struct db *db, PGresult *result, const struct err *e, void *arg)
{
	struct lead *lead = arg;
	int64_t term = 0;

	(void)db;
	lead->claiming = false;
	if (!result) {
		if (!is_connection_error(e))
			log_error("could not claim leadership: %s %s", e->code, e->message);
		return;
	}
	if (PQntuples(result) == 1 && !PQgetisnull(result, 0, 0))
		term = strtoll(PQgetvalue(result, 0, 0), NULL, 10);
	if (lead->term && term != lead->term)
		lead_drop_term(lead, "another jobmgrd leads");
	if (term && term != lead->term)
		lead_win(lead, term);
}

/* Claim leadership. The leader's claim renews its lease. A daemon that was deposed during a cycle claims again after that cycle,
 * since one cycle runs at a time. */
static void lead_claim(struct lead *lead)
{
	char lease[16];

	if (lead->claiming || (!lead->term && lead_cycle_is_running(lead->cycle)))
		return;
	lead->claiming = true;
	snprintf(lease, sizeof lease, "%d", lead->conf->schedule_lease);
	db_call(lead->db, API_leader_claim,
		(struct db_param[]){{"schedule", -1},
				    {lease, -1},
				    {*lead->conf->controller_prolog ? "true" : "false", -1},
				    {*lead->conf->controller_epilog ? "true" : "false", -1}},
		4, claim_answered, lead);
}

static void register_answered(struct db *db, PGresult *result, const struct err *e, void *arg)
{
	(void)db;
	(void)arg;
	if (!result)
		log_warning("could not register this daemon in the database: %s %s", e->code, e->message);
}

static void lead_register(struct lead *lead)
{
	char pid[16];

	snprintf(pid, sizeof pid, "%d", (int)getpid());
	db_call(lead->db, API_daemon_register,
		(struct db_param[]){{"jobmgrd", -1}, {lead->name, -1}, {pid, -1}, {ROTA_VERSION, -1}}, 4, register_answered,
		lead);
}

/* Has `period` passed since the time *at? If so, *at is set to the present time. */
static bool is_due(double *at, double period)
{
	double now = clock_seconds();

	if (now < *at + period)
		return false;
	*at = now;
	return true;
}

static void lead_beat(evutil_socket_t fd, short what, void *arg)
{
	struct lead *lead = arg;

	(void)fd;
	(void)what;
	lead_set_heartbeat(lead);
	if (!db_is_up(lead->db))
		return;
	lead_claim(lead);
	bool sessions = is_due(&lead->sessions_at, session_period);
	if (sessions)
		session_judge(lead->db, lead->conf);
	if (sessions || lead->term)
		lead_lower_priority(lead->db);
	if (is_due(&lead->registered_at, register_period))
		lead_register(lead);
	if (lead->resting && !lead_cycle_is_running(lead->cycle) &&
	    clock_seconds() >= lead->ended_at + lead->conf->schedule_period)
		lead_start_cycle(lead);
}

static void database_up(struct db *db, void *arg)
{
	struct lead *lead = arg;

	(void)db;
	lead_register(lead);
	lead_claim(lead);
}

static void database_down(struct db *db, const struct err *e, void *arg)
{
	(void)db;
	lead_drop_term(arg, e->message);
}

static void database_notified(struct db *db, const char *channel, void *arg)
{
	struct lead *lead = arg;

	(void)db;
	(void)channel;
	if (!lead->term)
		return;
	if (!lead->notified && !lead_cycle_is_running(lead->cycle) && lead->failures == 0)
		lead_set_gap(lead);
	lead->notified = true;
}

struct lead *lead_open(struct event_base *base, const struct conf *conf, const char *name, const struct seal_mac_key *mac,
		       const struct seal_sign_key *sign, void (*changed)(bool leader, void *arg), void *arg)
{
	static const char *const channels[] = {"rota_schedule", NULL};
	struct lead *lead = xcalloc(1, sizeof *lead);
	char *application = xasprintf("jobmgrd %s", name), *conninfo = db_conninfo(conf, "rota_jobmgr_leader", application);

	lead->base = base;
	lead->conf = conf;
	lead->name = xstrdup(name);
	lead->changed = changed;
	lead->arg = arg;
	lead->watcher = (struct db_watcher){.up = database_up, .down = database_down, .notified = database_notified, .arg = lead};
	lead->heartbeat = event_new(base, -1, 0, lead_beat, lead);
	lead->cycle_timer = event_new(base, -1, 0, lead_cycle_due, lead);
	lead->db = db_open(base, conninfo, API_JOBMGR_LEADER, channels, &lead->watcher);
	lead->cycle = lead_cycle_new(lead->db, conf, mac, sign, lead_cycle_ended, lead);
	lead_set_heartbeat(lead);
	free(conninfo);
	free(application);
	return lead;
}

void lead_close(struct lead *lead)
{
	if (!lead)
		return;
	lead_drop_term(lead, "shutting down");
	db_close(lead->db); /* db_close() ends a running cycle */
	lead_cycle_free(lead->cycle);
	event_free(lead->heartbeat);
	event_free(lead->cycle_timer);
	free(lead->name);
	free(lead);
}
