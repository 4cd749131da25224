/* runner.c - what is due is taken, run, and its end reported, in sets; who leads does, others wait.
 *
 * runnerd's main opens it. What always holds: nothing is written when a hook begins, so what has no end in the database is run
 * again by whoever leads next; for that reason hooks run under a term only: with the term, or the connection, they are killed at once.
 * A new term waits RUNNER_PAUSE before its first hook, for the old one's to be gone; and may be claimed from a session that lives
 * only when that was silent for longer than a hook may run. Bell, timer and answers all lead to runner_work, which may be called any time. */
#include "runner/runner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/db.h"
#include "lib/err.h"
#include "lib/log.h"
#include "runner/hook.h"
#include "runner/hook_environment.h"
#include "runner/warden.h"

enum {
	RUNNER_BEAT = 1,       /* seconds between claims, and looks at what no bell told */
	RUNNER_HEARTBEAT = 10, /* beats between registrations */
	RUNNER_PAUSE = 500,    /* milliseconds */
	RUNNER_MARGIN = 10,    /* seconds: the lease is so much longer than a hook may run */
	RUNNER_STALE = 8 /* seconds: less than that; an answer older than it and a hook's time may be another leader's by now */
};

struct runner {
	struct event_base *base;
	const struct conf *conf;
	char *name;
	struct db *db;
	struct db_watcher watcher;
	struct event *beat, *pause, *children;
	int64_t term; /* 0: somebody else leads, or nobody */
	char term_text[24];
	bool ready; /* the pause is over */
	bool claiming, taking, rung, look;
	struct hook *running, *ended, *told, *dying; /* told: their report is on its way; dying: of an old term, killed */
	int running_count;
	int64_t taken_at; /* when the answer under way was asked for; boot seconds */
	int beats;
};

static int64_t now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	return now.tv_sec;
}

static void runner_work(struct runner *r);

static void hooks_free(struct hook **list)
{
	for (struct hook *h = *list, *next; h; h = next) {
		next = h->next;
		hook_free(h);
	}
	*list = NULL;
}

/* The term is over: nothing of it goes on, and nothing of it is said. */
static void runner_drop(struct runner *r, const char *why)
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
	hooks_free(&r->ended);
	hooks_free(&r->told);
	event_del(r->pause);
	r->running_count = 0;
	r->term = 0;
	r->ready = false;
}

/* Of whatever failed: what is to be done about it. */
static void call_failed(struct runner *r, const char *what, const struct err *e)
{
	if (strcmp(e->code, "RT412") == 0)
		runner_drop(r, e->message);
	else if (strncmp(e->code, "08", 2) != 0) /* of a loss, `down` tells */
		log_error("%s: %s %s", what, e->code, e->message);
}

/* reports */

static void report_came(struct db *db, PGresult *result, const struct err *e, void *arg)
{
	struct runner *r = arg;
	struct hook **last = &r->ended;

	(void)db;
	if (result) {
		hooks_free(&r->told);
		runner_work(r);
		return;
	}
	while (*last) /* again at the next beat */
		last = &(*last)->next;
	*last = r->told;
	r->told = NULL;
	call_failed(r, "ends of hooks could not be reported", e);
}

static void add_number(struct db_array *array, bool there, int64_t number)
{
	char text[24];

	snprintf(text, sizeof text, "%lld", (long long)number);
	db_array_text(array, there ? text : NULL);
}

static void runner_report(struct runner *r)
{
	enum { IDS, EXITS, SIGNALS, USECS, MESSAGES, OUTPUTS, COLUMNS };
	struct db_array *columns[COLUMNS];
	struct db_param params[COLUMNS + 1] = {{r->term_text, -1}};

	for (int i = 0; i < COLUMNS; i++)
		columns[i] = db_array_new();
	for (const struct hook *h = r->ended; h; h = h->next) {
		bool ran = h->usec >= 0;

		db_array_int(columns[IDS], h->id);
		add_number(columns[EXITS], ran && WIFEXITED(h->status) && !(*h->message && WEXITSTATUS(h->status) == 0),
			   WEXITSTATUS(h->status));
		add_number(columns[SIGNALS], ran && WIFSIGNALED(h->status), WTERMSIG(h->status));
		add_number(columns[USECS], ran, h->usec);
		db_array_text(columns[MESSAGES], *h->message ? h->message : NULL);
		db_array_text(columns[OUTPUTS], h->tail);
	}
	for (int i = 0; i < COLUMNS; i++)
		params[i + 1] = (struct db_param){db_array_literal(columns[i]), -1};
	r->told = r->ended;
	r->ended = NULL;
	db_call(r->db, API_hook_report, params, COLUMNS + 1, report_came, r);
	for (int i = 0; i < COLUMNS; i++)
		db_array_free(columns[i]);
}

static void hook_over(struct runner *r, struct hook *h)
{
	if (*h->message)
		log_warning("%s: %s", h->label, h->message);
	h->next = r->ended;
	r->ended = h;
}

/* Where the hook with this process stands, NULL in a list that does not have it. */
static struct hook **place_of(struct hook **list, pid_t pid)
{
	while (*list && (*list)->pid != pid)
		list = &(*list)->next;
	return *list ? list : NULL;
}

static void child_ended(struct runner *r, pid_t pid)
{
	struct hook **running = place_of(&r->running, pid), **dying = place_of(&r->dying, pid), *h;

	if (pid == warden_pid())
		die("the warden has ended");
	if (!running && !dying) {
		waitpid(pid, NULL, 0);
		return;
	}
	h = running ? *running : *dying;
	*(running ? running : dying) = h->next;
	hook_reap(h);
	if (running) {
		r->running_count--;
		hook_over(r, h);
	} else
		hook_free(h);
}

static void children_ended(evutil_socket_t number, short what, void *arg)
{
	struct runner *r = arg;
	siginfo_t info = {0};

	(void)number;
	(void)what;
	while (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid) {
		child_ended(r, info.si_pid);
		info.si_pid = 0;
	}
	runner_work(r);
}

/* taking */

static const char *cell(const PGresult *result, int row, const char *column)
{
	int field = PQfnumber(result, column);

	return field < 0 ? "" : PQgetvalue(result, row, field);
}

static struct hook *running_with(const struct runner *r, int64_t id)
{
	struct hook *h = r->running;

	while (h && h->id != id)
		h = h->next;
	return h;
}

static void hook_begin(struct runner *r, const PGresult *result, int row)
{
	static const char unwanted[] = "was not run or ended early: the attempt is to end";
	int64_t id = strtoll(cell(result, row, "hook_id"), NULL, 10);
	bool prolog = strcmp(cell(result, row, "hook"), "controller_prolog") == 0, wanted = *cell(result, row, "wanted") == 't';
	struct hook *h = running_with(r, id);

	if (h) {
		if (!wanted)
			hook_kill(h, unwanted);
		return;
	}
	if (!*cell(result, row, "label")) /* it has ended meanwhile */
		return;
	h = hook_new(id, cell(result, row, "label"), prolog ? r->conf->controller_prolog : r->conf->controller_epilog, prolog);
	if (!wanted) {
		hook_kill(h, unwanted);
		hook_over(r, h);
		return;
	}
	char **environment = hook_environment(result, row, r->conf->instance_name);
	if (hook_start(h, r->base, environment, r->conf->controller_hook_timeout)) {
		h->next = r->running;
		r->running = h;
		r->running_count++;
	} else
		hook_over(r, h);
	hook_environment_free(environment);
}

static void take_came(struct db *db, PGresult *result, const struct err *e, void *arg)
{
	struct runner *r = arg;

	(void)db;
	r->taking = false;
	if (!result) {
		call_failed(r, "hooks could not be taken", e);
		return;
	}
	if (!r->ready || now_s() - r->taken_at > r->conf->controller_hook_timeout + RUNNER_STALE) {
		r->rung = true;
		return;
	}
	for (int i = 0; i < PQntuples(result); i++)
		hook_begin(r, result, i);
	r->rung = r->rung || PQntuples(result) > 0; /* there may be more */
	runner_work(r);
}

static int room(const struct runner *r)
{
	return r->conf->controller_hooks - r->running_count;
}

static void runner_take(struct runner *r)
{
	struct db_array *have = db_array_new();
	const struct hook *lists[] = {r->running, r->ended, r->told};
	char rooms[16];

	for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
		for (const struct hook *h = lists[i]; h; h = h->next)
			db_array_int(have, h->id);
	snprintf(rooms, sizeof rooms, "%d", room(r));
	r->taking = true;
	r->taken_at = now_s();
	db_call(r->db, API_hook_take,
		(struct db_param[]){
			{r->term_text, -1}, {db_array_literal(have), -1}, {rooms, -1}, {r->look ? "true" : "false", -1}},
		4, take_came, r);
	r->rung = r->look = false;
	db_array_free(have);
}

/* Whatever is to be done and can be done now. */
static void runner_work(struct runner *r)
{
	if (!r->ready || !db_is_up(r->db))
		return;
	if (r->ended && !r->told)
		runner_report(r);
	if (!r->taking && (r->look || (r->rung && room(r) > 0)))
		runner_take(r);
}

/* leadership */

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
		call_failed(r, "it could not be claimed to run hooks", e);
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

	snprintf(pid, sizeof pid, "%d", (int)getpid());
	db_call(r->db, API_daemon_register, (struct db_param[]){{"runnerd", -1}, {r->name, -1}, {pid, -1}, {ROTA_VERSION, -1}}, 4,
		register_came, r);
}

static void runner_beat(evutil_socket_t fd, short what, void *arg)
{
	struct runner *r = arg;

	(void)fd;
	(void)what;
	if (!db_is_up(r->db))
		return;
	runner_claim(r);
	if (++r->beats % RUNNER_HEARTBEAT == 0)
		runner_register(r);
	r->rung = r->look = true;
	runner_work(r);
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
	const struct timeval often = {.tv_sec = RUNNER_BEAT};
	struct runner *r = xcalloc(1, sizeof *r);
	char *application = xasprintf("runnerd %s", name), *conninfo = db_conninfo(conf, "rota_jobmgr", application);

	r->base = base;
	r->conf = conf;
	r->name = xstrdup(name);
	r->watcher = (struct db_watcher){.up = database_up, .down = database_down, .bell = database_bell, .arg = r};
	r->beat = event_new(base, -1, EV_PERSIST, runner_beat, r);
	r->pause = evtimer_new(base, pause_over, r);
	r->children = evsignal_new(base, SIGCHLD, children_ended, r);
	r->db = db_open(base, conninfo, API_RUNNER, channels, &r->watcher);
	event_add(r->beat, &often);
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
	hooks_free(&r->dying); /* who does not die at once is the warden's */
	event_free(r->beat);
	event_free(r->pause);
	event_free(r->children);
	free(r->name);
	free(r);
}
