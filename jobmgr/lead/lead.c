/* lead.c - win leadership, run passes while it lasts, let it go.
 *
 * jobmgrd's main opens it. What always holds: the database knows the leader by this connection, so who leads has a
 * connection, and who loses it leads no more; a lost term takes with it everything that passes found; one pass runs at a time.
 * Every beat claims, the leader's too: that is how it lives, and how one that was frozen hears that another one leads. Whether
 * it hears in time matters to nobody: the database refuses what carries an old term (sql/schedule/leader.sql). So the leader's beat is
 * a part of its lease, and an idle leader wakes for it alone: what comes from time to time falls on a beat. The others ask more often,
 * since nobody tells them that a leader was killed.
 *
 * Why it never spins: a pass follows another one at once only because that one moved a step out of `pending` (there are finitely
 * many), or because a bell rang or a start was left over. Where that goes on but passes move nothing, each beyond the first
 * LEAD_FREE (a step that begins and ends rings as often) keeps a little more distance from the one before (LEAD_GAP each,
 * LEAD_GAP_MOST in all). A pass that the database refuses because something is no
 * longer as it was read is repeated LEAD_TRIES times at once, then with each start apart for as long as one of them fails, so that
 * it holds up itself only; every other failure waits, longer each time.
 *
 * What a user has locked holds up nobody else: a pass that met a lock which is kept is repeated once, around the jobs that are locked. So are
 * those that follow, for as long as one is left out. No bell rings when it is free, so it is looked at again by the clock. */
#include "jobmgr/lead/lead.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "jobmgr/lead/lead_pass.h"
#include "jobmgr/lead/lead_yield.h"
#include "lib/clock.h"
#include "lib/db.h"
#include "lib/err.h"
#include "lib/log.h"

enum {
	LEAD_ASK = 250,	      /* milliseconds between claims of who does not lead */
	LEAD_RENEWALS = 3,    /* claims of the leader within its lease */
	LEAD_TRIES = 3,	      /* repetitions at once after a refusal of the database */
	LEAD_DELAY_MOST = 30, /* seconds between tries at the most */
	LEAD_PLAN_LATE = 300, /* milliseconds until a plan that was found too soon is looked at again, or a job that was locked */
	LEAD_FREE = 4,	      /* passes */
	LEAD_GAP = 5,	      /* milliseconds */
	LEAD_GAP_MOST = 100,
	LEAD_PART = 3	      /* of what the last pass took */
};

static const double judge_gap = 1;     /* seconds between looks at other daemons' sessions */
static const double register_gap = 10; /* seconds */

struct lead {
	struct event_base *base;
	const struct conf *conf;
	char *name;
	struct db *db;
	struct db_watcher watcher;
	struct lead_pass *pass;
	struct event *beat;  /* claim, judge, register, and the pass of an idle leader */
	struct event *alarm; /* the next pass */
	void (*changed)(bool leader, void *arg);
	void *arg;
	int64_t term; /* 0: somebody else leads, or nobody */
	bool claiming, rung;
	bool apart;  /* starts are committed one by one, since together they failed */
	bool around; /* jobs that are locked are left out, since some are for long */
	int failures;
	int idle;	 /* passes in a row that moved nothing */
	bool resting;	 /* nothing but the period brings the next pass */
	double began_at, ended_at; /* the last pass; monotonic seconds */
	double judged_at, registered_at;
};

static void lead_start_pass(struct lead *lead)
{
	event_del(lead->alarm);
	lead->resting = false;
	lead->rung = false;
	lead->began_at = clock_seconds();
	lead_pass_run(lead->pass, lead->term, lead->apart, lead->apart || lead->around);
}

static void lead_alarm(evutil_socket_t fd, short what, void *arg)
{
	struct lead *lead = arg;

	(void)fd;
	(void)what;
	if (lead->term && !lead_pass_is_running(lead->pass))
		lead_start_pass(lead);
}

static void lead_sleep(struct lead *lead, double seconds)
{
	struct timeval wait;

	lead->resting = seconds >= lead->conf->schedule_period;
	if (lead->resting) {
		event_del(lead->alarm);
		return;
	}
	if (seconds < 0)
		seconds = 0;
	wait.tv_sec = (time_t)seconds;
	wait.tv_usec = (suseconds_t)((seconds - (double)wait.tv_sec) * 1e6);
	event_add(lead->alarm, &wait);
}

/* Another pass, at a distance from the last one that grows while passes move nothing. Behind one that moved something it is a
 * part of what that one took: what happens meanwhile is decided on together, so a busy database gets fewer and larger passes. */
static void lead_soon(struct lead *lead)
{
	int idle = lead->idle > LEAD_FREE ? lead->idle - LEAD_FREE : 0;
	double took = lead->idle == 0 ? lead->ended_at - lead->began_at : 0, gap = idle * LEAD_GAP / 1000.0;

	if (gap < took / LEAD_PART)
		gap = took / LEAD_PART;
	if (gap > LEAD_GAP_MOST / 1000.0)
		gap = LEAD_GAP_MOST / 1000.0;
	lead_sleep(lead, lead->ended_at + gap - clock_seconds());
}

static void lead_next_beat(struct lead *lead)
{
	long wait = lead->term ? lead->conf->schedule_lease * 1000L / LEAD_RENEWALS : LEAD_ASK;

	event_add(lead->beat, &(struct timeval){.tv_sec = wait / 1000, .tv_usec = wait % 1000 * 1000});
}

/* Leadership is over: whatever was known is not known any more. */
static void lead_drop(struct lead *lead, const char *why)
{
	if (lead->term) {
		log_info("leadership of term %lld is over: %s", (long long)lead->term, why);
		lead->term = 0;
		lead->changed(false, lead->arg);
		lead_next_beat(lead);
	}
	event_del(lead->alarm);
	lead->resting = false;
	lead->rung = false;
	lead->failures = 0;
	lead->apart = false;
	lead->around = false;
	lead->idle = 0;
	lead_pass_forget(lead->pass);
}

/* The connection was lost: `down` comes next and says so. */
static bool is_loss(const struct err *e)
{
	return strncmp(e->code, "08", 2) == 0;
}

/* Something is no longer as it was read, so that reading again may help. */
static bool is_stale(const struct err *e)
{
	static const char *const codes[] = {"23505", "23514", "40001", "40P01"};

	for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
		if (strcmp(e->code, codes[i]) == 0)
			return true;
	}
	return false;
}

static void pass_failed(struct lead *lead, const struct err *e)
{
	int delay;

	if (strcmp(e->code, "RT412") == 0) {
		lead_drop(lead, e->message);
		return;
	}
	if (is_loss(e))
		return;
	if (!lead->around && strcmp(e->code, "55P03") == 0) {
		log_debug("the pass is repeated around what is locked: %s", e->message);
		lead->around = true;
		lead_sleep(lead, 0);
		return;
	}
	lead->apart = ++lead->failures >= LEAD_TRIES;
	if (is_stale(e) && lead->failures <= LEAD_TRIES) {
		log_debug("the pass is repeated: %s %s", e->code, e->message);
		lead_sleep(lead, 0);
		return;
	}
	log_error("the scheduling pass failed: %s %s", e->code, e->message);
	delay = lead->failures < LEAD_DELAY_MOST ? lead->failures : LEAD_DELAY_MOST;
	lead_sleep(lead, delay);
}

/* When the next pass is to be, after this one. */
static void pass_ended(const struct lead_outcome *outcome, void *arg)
{
	struct lead *lead = arg;

	lead->ended_at = clock_seconds();
	if (!lead->term)
		return;
	if (!outcome->good) {
		pass_failed(lead, &outcome->e);
		return;
	}
	lead->failures = 0;
	lead->apart = outcome->spoiled;
	lead->around = outcome->locked;
	lead->idle = outcome->moved > 0 ? 0 : lead->idle + 1;
	if (outcome->moved > 0 || outcome->left_over || lead->rung)
		lead_soon(lead);
	else if (outcome->plan_is_late || outcome->locked)
		lead_sleep(lead, LEAD_PLAN_LATE / 1000.0);
	else /* what is due already and did not happen is waited for with a pause */
		lead_sleep(lead, fmin(outcome->next_in > 0 ? outcome->next_in : 1, outcome->whole_in));
}

/* leadership */

static void lead_win(struct lead *lead, int64_t term)
{
	lead->term = term;
	log_info("leader of term %lld", (long long)term);
	lead->changed(true, lead->arg);
	lead_next_beat(lead);
	lead_sleep(lead, 0);
}

static void claim_came(struct db *db, PGresult *result, const struct err *e, void *arg)
{
	struct lead *lead = arg;
	int64_t term = 0;

	(void)db;
	lead->claiming = false;
	if (!result) {
		if (!is_loss(e))
			log_error("leadership could not be claimed: %s %s", e->code, e->message);
		return;
	}
	if (PQntuples(result) == 1 && !PQgetisnull(result, 0, 0))
		term = strtoll(PQgetvalue(result, 0, 0), NULL, 10);
	if (lead->term && term != lead->term)
		lead_drop(lead, "another jobmgrd leads");
	if (term && term != lead->term)
		lead_win(lead, term);
}

/* Who leads claims as well. Who was deposed in the middle of a pass waits for its end: passes do not run side by side. */
static void lead_claim(struct lead *lead)
{
	char lease[16];

	if (lead->claiming || (!lead->term && lead_pass_is_running(lead->pass)))
		return;
	lead->claiming = true;
	snprintf(lease, sizeof lease, "%d", lead->conf->schedule_lease);
	db_call(lead->db, API_leader_claim,
		(struct db_param[]){{"schedule", -1},
				    {lease, -1},
				    {*lead->conf->controller_prolog ? "true" : "false", -1},
				    {*lead->conf->controller_epilog ? "true" : "false", -1}},
		4, claim_came, lead);
}

static void judge_came(struct db *db, PGresult *result, const struct err *e, void *arg)
{
	(void)db;
	(void)arg;
	if (!result && !is_loss(e))
		log_warning("the sessions of the database could not be judged: %s %s", e->code, e->message);
	for (int i = 0; result && i < PQntuples(result); i++)
		log_warning("%s kept a transaction open for too long: its session was ended", PQgetvalue(result, i, 0));
}

static void lead_judge(struct lead *lead)
{
	char silence[16];

	/* Its locks may be what the next leader waits for: no session keeps them for longer than a leader may be silent. */
	snprintf(silence, sizeof silence, "%d", lead->conf->schedule_lease);
	db_call(lead->db, API_session_judge, (struct db_param[]){{silence, -1}}, 1, judge_came, lead);
}

static void register_came(struct db *db, PGresult *result, const struct err *e, void *arg)
{
	(void)db;
	(void)arg;
	if (!result)
		log_warning("the database does not take this daemon down: %s %s", e->code, e->message);
}

static void lead_register(struct lead *lead)
{
	char pid[16];

	snprintf(pid, sizeof pid, "%d", (int)getpid());
	db_call(lead->db, API_daemon_register,
		(struct db_param[]){{"jobmgrd", -1}, {lead->name, -1}, {pid, -1}, {ROTA_VERSION, -1}}, 4, register_came, lead);
}

/* Whether it is time again for what was done at *at. */
static bool is_due(double *at, double gap)
{
	double now = clock_seconds();

	if (now < *at + gap)
		return false;
	*at = now;
	return true;
}

static void lead_beat(evutil_socket_t fd, short what, void *arg)
{
	struct lead *lead = arg;

	(void)fd;
	(void)what;
	lead_next_beat(lead);
	if (!db_is_up(lead->db))
		return;
	lead_claim(lead);
	bool judges = is_due(&lead->judged_at, judge_gap);
	if (judges)
		lead_judge(lead);
	if (judges || lead->term)
		lead_yield(lead->db);
	if (is_due(&lead->registered_at, register_gap))
		lead_register(lead);
	if (lead->resting && !lead_pass_is_running(lead->pass) && clock_seconds() >= lead->ended_at + lead->conf->schedule_period)
		lead_start_pass(lead);
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
	lead_drop(arg, e->message);
}

static void database_bell(struct db *db, const char *channel, void *arg)
{
	struct lead *lead = arg;

	(void)db;
	(void)channel;
	if (!lead->term)
		return;
	if (!lead->rung && !lead_pass_is_running(lead->pass) && lead->failures == 0)
		lead_soon(lead);
	lead->rung = true;
}

struct lead *lead_open(struct event_base *base, const struct conf *conf, const char *name, const struct seal_mac_key *mac,
		       const struct seal_sign_key *sign, void (*changed)(bool leader, void *arg), void *arg)
{
	static const char *const channels[] = {"rota_schedule", NULL};
	struct lead *lead = xcalloc(1, sizeof *lead);
	char *application = xasprintf("jobmgrd %s", name), *conninfo = db_conninfo(conf, "rota_jobmgr", application);

	lead->base = base;
	lead->conf = conf;
	lead->name = xstrdup(name);
	lead->changed = changed;
	lead->arg = arg;
	lead->watcher = (struct db_watcher){.up = database_up, .down = database_down, .bell = database_bell, .arg = lead};
	lead->beat = event_new(base, -1, 0, lead_beat, lead);
	lead->alarm = event_new(base, -1, 0, lead_alarm, lead);
	lead->db = db_open(base, conninfo, API_JOBMGR, channels, &lead->watcher);
	lead->pass = lead_pass_new(lead->db, conf, mac, sign, pass_ended, lead);
	lead_next_beat(lead);
	free(conninfo);
	free(application);
	return lead;
}

void lead_close(struct lead *lead)
{
	if (!lead)
		return;
	lead_drop(lead, "shutting down");
	db_close(lead->db); /* a pass under way ends, and finds no term */
	lead_pass_free(lead->pass);
	event_free(lead->beat);
	event_free(lead->alarm);
	free(lead->name);
	free(lead);
}
