/* runner.c - what is due is taken, run, and its end reported, in sets; who leads does, others wait.
 *
 * runnerd's main opens it. What always holds: nothing is written when a hook begins, so what has no end in the database is run
 * again by whoever leads next; for that reason hooks run under a term only: with the term, or the connection, they are killed at once.
 * A new term waits RUNNER_PAUSE before its first hook, for the old one's to be gone; and may be claimed from a session that lives
 * only when that was silent for longer than a hook may run. Bell, timer and answers all lead to runner_work, which may be called any time. */
#include "runner/runner.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/clock.h"
#include "lib/log.h"
#include "runner/runner_parts.h"

enum {
	RUNNER_ASK = 1,	      /* seconds between claims of who does not lead, and looks at what is under way */
	RUNNER_HEARTBEAT = 5, /* seconds between registrations, and between claims of an idle leader */
	RUNNER_PAUSE = 500    /* milliseconds */
};

void runner_drop(struct runner *r, const char *why)
{
	if (r->term)
		log_info("runs no hooks any more: %s", why);
	while (r->running) {
		struct hook *h = r->running;

		hook_kill(h, "was ended with its runner's term");
		r->running = h->next;
		h->next = r->dying;
		r->dying = h;
	}
	runner_child_free(&r->ended);
	runner_child_free(&r->told);
	event_del(r->pause);
	event_del(r->turn);
	r->running_count = 0;
	r->term = 0;
	r->ready = false;
}

void runner_failed(struct runner *r, const char *what, const struct err *e)
{
	if (strcmp(e->code, "RT412") == 0)
		runner_drop(r, e->message);
	else if (strncmp(e->code, "08", 2) != 0) /* of a loss, `down` tells */
		log_error("%s: %s %s", what, e->code, e->message);
}

static void runner_pause(struct runner *r)
{
	const struct timeval pause = {.tv_usec = RUNNER_PAUSE * 1000};

	event_add(r->pause, &pause);
}

/* What was begun in an old term has to be gone, too. */
static void pause_over(evutil_socket_t fd, short what, void *arg)
{
	struct runner *r = arg;

	(void)fd;
	(void)what;
	if (r->dying) {
		runner_pause(r);
		return;
	}
	r->ready = r->rung = true;
	runner_work(r);
}

static void claim_came(struct db *db, PGresult *result, const struct err *e, void *arg)
{
	struct runner *r = arg;
	int64_t term = 0;

	(void)db;
	r->claiming = false;
	if (!result) {
		runner_failed(r, "it could not be claimed to run hooks", e);
		return;
	}
	if (PQntuples(result) == 1 && !PQgetisnull(result, 0, 0))
		term = strtoll(PQgetvalue(result, 0, 0), NULL, 10);
	if (r->term && term != r->term)
		runner_drop(r, "another runnerd does");
	if (term && term != r->term) {
		r->term = term;
		snprintf(r->term_text, sizeof r->term_text, "%lld", (long long)term);
		log_info("runs hooks in term %lld", (long long)term);
		runner_pause(r);
	}
}

static void runner_claim(struct runner *r)
{
	char lease[16];

	if (r->claiming)
		return;
	r->claiming = true;
	snprintf(lease, sizeof lease, "%d", r->conf->controller_hook_timeout + RUNNER_MARGIN);
	db_call(r->db, API_leader_claim, (struct db_param[]){{"hook", -1}, {lease, -1}, {"false", -1}, {"false", -1}}, 4,
		claim_came, r);
}

static void register_came(struct db *db, PGresult *result, const struct err *e, void *arg)
{
	(void)db;
	(void)arg;
	if (!result)
		log_warning("the database does not take this daemon down: %s %s", e->code, e->message);
}

static void runner_register(struct runner *r)
{
	char pid[16];

	r->registered_at = clock_boot_us();
	snprintf(pid, sizeof pid, "%d", (int)getpid());
	db_call(r->db, API_daemon_register, (struct db_param[]){{"runnerd", -1}, {r->name, -1}, {pid, -1}, {ROTA_VERSION, -1}}, 4,
		register_came, r);
}

/* Who leads and has nothing under way is woken by bells, and seldom by this. */
static void runner_next_beat(struct runner *r)
{
	bool idle = r->ready && !r->running && !r->ended && !r->told && !runner_mail_busy(r);

	event_add(r->beat, &(struct timeval){.tv_sec = idle ? RUNNER_HEARTBEAT : RUNNER_ASK});
}

static void runner_beat(evutil_socket_t fd, short what, void *arg)
{
	struct runner *r = arg;

	(void)fd;
	(void)what;
	if (db_is_up(r->db)) {
		runner_claim(r);
		if (clock_boot_us() - r->registered_at >= RUNNER_HEARTBEAT * 1000000LL)
			runner_register(r);
		r->rung = r->look = true;
		runner_work(r);
		runner_mail_beat(r);
	}
	runner_next_beat(r);
}

static void database_up(struct db *db, void *arg)
{
	(void)db;
	log_info("connected to the database");
	runner_register(arg);
	runner_claim(arg);
}

static void database_down(struct db *db, const struct err *e, void *arg)
{
	(void)db;
	log_warning("no database: %s", e->message);
	runner_drop(arg, e->message);
}

static void database_bell(struct db *db, const char *channel, void *arg)
{
	struct runner *r = arg;

	(void)db;
	r->rung = true;
	r->look = r->look || strcmp(channel, "rota_hook_end") == 0;
	runner_work(r);
}

struct runner *runner_open(struct event_base *base, const struct conf *conf, const char *name)
{
	static const char *const channels[] = {"rota_hook", "rota_hook_end", NULL};
	struct runner *r = xcalloc(1, sizeof *r);
	char *application = xasprintf("runnerd %s", name), *conninfo = db_conninfo(conf, "rota_jobmgr", application);

	r->base = base;
	r->conf = conf;
	r->name = xstrdup(name);
	r->watcher = (struct db_watcher){.up = database_up, .down = database_down, .bell = database_bell, .arg = r};
	r->beat = evtimer_new(base, runner_beat, r);
	r->pause = evtimer_new(base, pause_over, r);
	r->children = evsignal_new(base, SIGCHLD, runner_child_ended, r);
	r->turn = evtimer_new(base, runner_turn_due, r);
	r->mail = runner_mail_new(r);
	r->db = db_open(base, conninfo, API_RUNNER, channels, &r->watcher);
	runner_next_beat(r);
	event_add(r->children, NULL);
	free(conninfo);
	free(application);
	return r;
}

void runner_close(struct runner *r)
{
	if (!r)
		return;
	runner_drop(r, "shutting down");
	db_close(r->db);
	runner_mail_free(r->mail);
	runner_child_free(&r->dying); /* who does not die at once is the warden's */
	event_free(r->beat);
	event_free(r->pause);
	event_free(r->children);
	event_free(r->turn);
	free(r->name);
	free(r);
}
