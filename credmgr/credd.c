/* credd.c - starts and ends rota-credd, and handles events: notifications, timers and ended programs.
 *
 * Called by: bin/rota-credd.c.
 * Invariants:
 * - rota-credd stores only its keys and the list of removed credentials. Uploads, renewals and boxes that are due are rows of the
 *   database, which rota-credd reads after each start.
 * - A notification and a timer cause the same calls of the database. A lost notification delays a call until the timer expires. */
#include "credmgr/credd.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "credmgr/credd_parts.h"
#include "lib/clock.h"
#include "lib/log.h"
#include "lib/rota.h"

enum { CREDD_HEARTBEAT = 10 /* seconds between registrations in the database */ };

static void credd_registered(struct db *db, PGresult *result, const struct err *e, void *arg)
{
	(void)db;
	(void)arg;
	if (!result)
		log_warning("could not register this daemon in the database: %s %s", e->code, e->message);
}

static void credd_register(struct credd *c)
{
	char pid[16];
	c->registered_at_us = clock_boot_us();
	snprintf(pid, sizeof pid, "%d", (int)getpid());
	db_call(c->db, API_daemon_register, (struct db_param[]){{"rota-credd", -1}, {c->name, -1}, {pid, -1}, {ROTA_VERSION, -1}},
		4, credd_registered, c);
}

/* Make all questions to the database due, and send them. */
static void credd_ask_all(struct credd *c)
{
	for (int i = 0; i < CREDD_TASKS; i++)
		c->due[i] = true;
	credd_poll(c);
}

static void credd_beat(evutil_socket_t fd, short what, void *arg)
{
	struct credd *c = arg;
	(void)fd;
	(void)what;
	if (db_is_up(c->db) && clock_boot_us() - c->registered_at_us >= CREDD_HEARTBEAT * 1000000LL)
		credd_register(c);
	credd_ask_all(c);
	event_add(c->beat, &(struct timeval){.tv_sec = c->conf->credentials_period});
}

/* Timer: the time has come that the database has named for the next renewal or judgement of steps by their credentials. */
static void credd_soon(evutil_socket_t fd, short what, void *arg)
{
	struct credd *c = arg;
	(void)fd;
	(void)what;
	c->due[CREDD_RENEW] = c->due[CREDD_JUDGE] = true;
	credd_poll(c);
}

static void credd_up(struct db *db, void *arg)
{
	struct credd *c = arg;
	struct err e = {0};
	(void)db;
	log_info("connected to the database");
	if (!removed_read(c->removed, &e))
		log_error("%s", e.message);
	c->nodes_at = (struct timespec){0};
	c->compared = false;
	credd_register(c);
	credd_ask_all(c);
}

static void credd_down(struct db *db, const struct err *e, void *arg)
{
	(void)db;
	(void)arg;
	log_warning("no connection to the database: %s", e->message);
}

static void credd_notified(struct db *db, const char *channel, void *arg)
{
	struct credd *c = arg;
	(void)db;
	c->due[CREDD_BOX] = true;
	if (strcmp(channel, "rota_credential") == 0)
		c->due[CREDD_REMOVED] = c->due[CREDD_UPLOAD] = c->due[CREDD_TEST] = c->due[CREDD_RENEW] = c->due[CREDD_JUDGE] =
			true;
	credd_poll(c);
}

static void credd_reap(struct credd *c, pid_t pid)
{
	for (struct credd_work *w = c->works; w; w = w->next)
		if (w->child && child_reap(w->child, pid))
			return;
	waitpid(pid, NULL, 0);
}

/* Handler of SIGCHLD: reap ended processes of rota-credential. */
static void credd_children_ended(evutil_socket_t number, short what, void *arg)
{
	siginfo_t info = {0};
	(void)number;
	(void)what;
	while (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid) {
		credd_reap(arg, info.si_pid);
		info.si_pid = 0;
	}
}

struct credd *credd_open(struct event_base *base, const struct conf *conf, const char *name)
{
	static const char *const channels[] = {"rota_credential", "rota_credential_box", NULL};
	static void (*const ask[CREDD_TASKS])(struct credd *) = {
		[CREDD_REMOVED] = credd_removed_ask, [CREDD_BOX] = credd_box_ask,    [CREDD_UPLOAD] = credd_upload_ask,
		[CREDD_RENEW] = credd_renew_ask,     [CREDD_TEST] = credd_test_ask,  [CREDD_JUDGE] = credd_judge_ask,
		[CREDD_RESEAL] = credd_reseal_ask,   [CREDD_NODES] = credd_nodes_ask};
	struct credd *c = xcalloc(1, sizeof *c);
	struct err e = {0};
	char *application = xasprintf("rota-credd %s", name), *conninfo = db_conninfo(conf, "rota_credd", application);
	prctl(PR_SET_DUMPABLE, 0); /* keep the keys out of core files, and from debuggers and other processes of the account */
	memcpy(c->ask, ask, sizeof ask);
	c->base = base;
	c->conf = conf;
	c->name = xstrdup(name);
	c->ring = keyring_open(conf->credentials_keys, &e);
	c->removed = c->ring ? removed_open(conf->credentials_keys, &e) : NULL;
	if (!c->removed)
		die("%s%s%s", e.message, *e.hint ? ". " : "", e.hint);
	char *verify = xasprintf("%s/sign.pub", conf->keys_dir);
	c->verify_key = seal_verify_key_load(verify, &e);
	if (!c->verify_key)
		log_warning("credentials that are granted to others cannot be delivered: %s", e.message);
	free(verify);
	c->watcher = (struct db_watcher){.up = credd_up, .down = credd_down, .notified = credd_notified, .arg = c};
	c->beat = evtimer_new(base, credd_beat, c);
	c->soon = evtimer_new(base, credd_soon, c);
	c->children = evsignal_new(base, SIGCHLD, credd_children_ended, c);
	c->db = db_open(base, conninfo, API_CREDD, channels, &c->watcher);
	event_add(c->beat, &(struct timeval){.tv_sec = conf->credentials_period});
	event_add(c->children, NULL);
	free(conninfo);
	free(application);
	return c;
}

void credd_close(struct credd *c)
{
	if (!c)
		return;
	db_close(c->db);
	while (c->works)
		credd_work_end(c->works);
	keyring_free(c->ring);
	removed_free(c->removed);
	seal_verify_key_free(c->verify_key);
	event_free(c->beat);
	event_free(c->soon);
	event_free(c->children);
	free(c->name);
	free(c);
}
