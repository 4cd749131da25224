/* runner.c - starts and ends the runner and its hook socket, and handles events: notifications, timers and ended processes.
 *
 * Called by: bin/runnerd.c.
 * Invariants:
 * - The start of a hook is not written to the database. If its end is not in the database either, the next leader runs the hook
 *   again.
 * - A notification, a timer and the end of a process all lead to runner_poll(). A lost notification delays a hook until the next
 *   beat of the timer. */
#include "runner/runner.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/clock.h"
#include "lib/log.h"
#include "runner/runner_parts.h"
#include "runner/script_socket.h"
#include "runner/supervisor.h"

enum {
	RUNNER_BEAT = 1,     /* seconds between beats while the runner does not lead or has work under way */
	RUNNER_HEARTBEAT = 5 /* seconds between registrations in the database, and between beats of an idle leader */
};

static void runner_pause_over(evutil_socket_t fd, short what, void *arg)
{
	struct runner *r = arg;

	(void)fd;
	(void)what;
	if (r->dying) {
		runner_term_pause(r);
		return;
	}
	r->ready = r->may_be_due = true;
	runner_poll(r);
	runner_pool_poll(r);
	runner_staging_poll(r, false);
	runner_power_poll(r->power);
	runner_power_poll(r->checks);
}

/* At the end of a term: kill all programs that ran within the term, except hooks. */
static void runner_term_over(struct runner *r)
{
	runner_staging_end(r);
	runner_pool_end(r);
	runner_power_end(r->power);
	runner_power_end(r->checks);
}

static void runner_register_answered(struct db *db, PGresult *result, const struct err *e, void *arg)
{
	(void)db;
	(void)arg;
	if (!result)
		log_warning("could not register this daemon in the database: %s %s", e->code, e->message);
}

static void runner_register(struct runner *r)
{
	char pid[16];

	r->registered_at_us = clock_boot_us();
	snprintf(pid, sizeof pid, "%d", (int)getpid());
	db_call(r->db, API_daemon_register, (struct db_param[]){{"runnerd", -1}, {r->name, -1}, {pid, -1}, {ROTA_VERSION, -1}}, 4,
		runner_register_answered, r);
}

/* Schedule the next beat. Notifications wake an idle leader, so its beats are far apart. */
static void runner_next_beat(struct runner *r)
{
	bool idle = r->ready && !hook_set_is_busy(&r->hooks) && !runner_mail_busy(r) && !runner_trigger_busy(r) &&
		    !runner_staging_busy(r) && !runner_power_busy(r->power) && !runner_power_busy(r->checks);

	event_add(r->beat, &(struct timeval){.tv_sec = idle ? RUNNER_HEARTBEAT : RUNNER_BEAT});
}

static void runner_beat(evutil_socket_t fd, short what, void *arg)
{
	struct runner *r = arg;

	(void)fd;
	(void)what;
	if (db_is_up(r->db)) {
		runner_term_claim(r);
		if (clock_boot_us() - r->registered_at_us >= RUNNER_HEARTBEAT * 1000000LL)
			runner_register(r);
		r->may_be_due = r->check_running = true;
		runner_poll(r);
		runner_staging_poll(r, true);
		runner_power_poll(r->power);
		runner_power_poll(r->checks);
		runner_mail_beat(r);
		runner_trigger_poll(r, true);
	}
	runner_next_beat(r);
}

static void runner_reap(struct runner *r, pid_t pid)
{
	if (pid == supervisor_pid()) {
		runner_term_end(r, "the supervisor has ended");
		die("the supervisor (process %d) has ended, so prologs and epilogs could outlive runnerd: runnerd ends too",
		    (int)pid);
	}
	if (!runner_child_reap(r, pid) && !runner_mail_reap(r, pid) && !runner_trigger_reap(r, pid) &&
	    !runner_staging_reap(r, pid) && !runner_pool_reap(r, pid) && !runner_power_reap(r->power, pid) &&
	    !runner_power_reap(r->checks, pid) && !script_socket_reap(r->scripts, pid))
		waitpid(pid, NULL, 0);
}

/* Called for SIGCHLD: reap all ended children, then poll the database. */
static void runner_children_ended(evutil_socket_t number, short what, void *arg)
{
	struct runner *r = arg;
	siginfo_t info = {0};

	(void)number;
	(void)what;
	while (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid) {
		runner_reap(r, info.si_pid);
		info.si_pid = 0;
	}
	runner_poll(r);
	runner_staging_poll(r, false);
}

static void runner_database_up(struct db *db, void *arg)
{
	(void)db;
	log_info("connected to the database");
	runner_register(arg);
	runner_term_claim(arg);
}

static void runner_database_down(struct db *db, const struct err *e, void *arg)
{
	(void)db;
	log_warning("no connection to the database: %s", e->message);
	runner_term_end(arg, e->message);
}

static void runner_notified(struct db *db, const char *channel, void *arg)
{
	struct runner *r = arg;

	(void)db;
	if (strcmp(channel, "rota_trigger") == 0) {
		runner_trigger_poll(r, false);
		return;
	}
	if (strcmp(channel, "rota_power") == 0) {
		runner_power_poll(r->power);
		runner_power_poll(r->checks);
		return;
	}
	r->may_be_due = true;
	r->check_running = r->check_running || strcmp(channel, "rota_hook_end") == 0;
	runner_poll(r);
	runner_staging_poll(r, strcmp(channel, "rota_hook_end") == 0);
}

struct runner *runner_open(struct event_base *base, const struct conf *conf, const char *name)
{
	static const char *const channels[] = {"rota_hook", "rota_hook_end", "rota_trigger", "rota_power", NULL};
	struct runner *r = xcalloc(1, sizeof *r);
	char *application = xasprintf("runnerd %s", name), *conninfo = db_conninfo(conf, "rota_runner", application);

	r->base = base;
	r->conf = conf;
	r->term_ended = runner_term_over;
	r->name = xstrdup(name);
	r->watcher = (struct db_watcher){
		.up = runner_database_up, .down = runner_database_down, .notified = runner_notified, .arg = r};
	r->beat = evtimer_new(base, runner_beat, r);
	r->pause = evtimer_new(base, runner_pause_over, r);
	r->children = evsignal_new(base, SIGCHLD, runner_children_ended, r);
	r->poll_timer = evtimer_new(base, runner_poll_timer, r);
	r->bound.most = conf->hooks_calls;
	hook_set_open(&r->hooks, &r->bound, conf->controller_hooks);
	r->mail = runner_mail_new(r);
	r->trigger = runner_trigger_new(r);
	r->power = runner_power_new(r, RUNNER_CHANGES);
	r->checks = runner_power_new(r, RUNNER_CHECKS);
	r->scripts = script_socket_open(base, conf);
	r->staging = runner_staging_new(r);
	r->pool = runner_pool_new(r);
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
	runner_term_end(r, "shutting down");
	db_close(r->db);
	runner_mail_free(r->mail);
	runner_trigger_free(r->trigger);
	runner_power_free(r->power);
	runner_power_free(r->checks);
	script_socket_close(r->scripts);
	runner_staging_free(r->staging);
	runner_pool_free(r->pool);
	hook_set_free(&r->hooks);
	hook_list_free(&r->dying); /* the supervisor kills the hooks that are left */
	event_free(r->beat);
	event_free(r->pause);
	event_free(r->children);
	event_free(r->poll_timer);
	free(r->name);
	free(r);
}
