/* nodemgr.c - connects the node manager to the database and registers it there. The work is in judge.c,
 * power.c and upkeep.c.
 *
 * Called by: bin/nodemgrd.c. */
#include "nodemgr/nodemgr.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/db.h"
#include "lib/err.h"
#include "lib/log.h"
#include "lib/session.h"
#include "nodemgr/judge.h"
#include "nodemgr/power.h"
#include "nodemgr/upkeep.h"

enum {
	NODEMGR_HEARTBEAT = 10, /* seconds between registrations of this daemon in the database */
	NODEMGR_SESSIONS = 2	/* seconds between checks of database sessions */
};

struct nodemgr {
	const struct conf *conf;
	char *name;
	struct db *db;
	struct db_watcher watcher;
	struct event *heartbeat, *sessions;
	struct judge *judge;
	struct power *power;
	struct upkeep *upkeep;
};

static void nodemgr_register_answered(struct db *db, PGresult *result, const struct err *e, void *arg)
{
	(void)db;
	(void)arg;
	if (!result)
		log_error("could not register this daemon in the database: %s %s", e->code, e->message);
}

static void nodemgr_register(evutil_socket_t fd, short what, void *arg)
{
	struct nodemgr *nodemgr = arg;
	char pid[16];

	(void)fd;
	(void)what;
	if (!db_is_up(nodemgr->db))
		return;
	snprintf(pid, sizeof pid, "%d", (int)getpid());
	db_call(nodemgr->db, API_daemon_register,
		(struct db_param[]){{"nodemgrd", -1}, {nodemgr->name, -1}, {pid, -1}, {ROTA_VERSION, -1}}, 4,
		nodemgr_register_answered, NULL);
}

static void nodemgr_judge_sessions(evutil_socket_t fd, short what, void *arg)
{
	struct nodemgr *nodemgr = arg;

	(void)fd;
	(void)what;
	if (db_is_up(nodemgr->db))
		session_judge(nodemgr->db, nodemgr->conf);
}

static void nodemgr_database_up(struct db *db, void *arg)
{
	struct nodemgr *nodemgr = arg;

	(void)db;
	log_info("connected to the database");
	judge_reset(nodemgr->judge);
	nodemgr_register(-1, 0, nodemgr);
	upkeep_start(nodemgr->upkeep);
}

static void nodemgr_database_down(struct db *db, const struct err *e, void *arg)
{
	(void)db;
	(void)arg;
	log_warning("no connection to the database: %s", e->message);
}

/* The node manager listens to no channel. */
static void nodemgr_notified(struct db *db, const char *channel, void *arg)
{
	(void)db;
	(void)channel;
	(void)arg;
}

struct nodemgr *nodemgr_open(struct event_base *base, const struct conf *conf, const char *name)
{
	static const char *const channels[] = {NULL};
	struct nodemgr *nodemgr = xcalloc(1, sizeof *nodemgr);
	char *conninfo = db_conninfo(conf, "rota_nodemgr", "nodemgrd");

	nodemgr->conf = conf;
	nodemgr->name = xstrdup(name);
	nodemgr->watcher = (struct db_watcher){
		.up = nodemgr_database_up, .down = nodemgr_database_down, .notified = nodemgr_notified, .arg = nodemgr};
	nodemgr->db = db_open(base, conninfo, API_NODEMGR, channels, &nodemgr->watcher);
	nodemgr->judge = judge_new(base, conf, nodemgr->db);
	nodemgr->power = power_new(base, conf, nodemgr->db);
	nodemgr->upkeep = upkeep_new(base, conf, nodemgr->db);
	nodemgr->heartbeat = event_new(base, -1, EV_PERSIST, nodemgr_register, nodemgr);
	event_add(nodemgr->heartbeat, &(struct timeval){.tv_sec = NODEMGR_HEARTBEAT});
	nodemgr->sessions = event_new(base, -1, EV_PERSIST, nodemgr_judge_sessions, nodemgr);
	event_add(nodemgr->sessions, &(struct timeval){.tv_sec = NODEMGR_SESSIONS});
	free(conninfo);
	return nodemgr;
}

void nodemgr_close(struct nodemgr *nodemgr)
{
	if (!nodemgr)
		return;
	db_close(nodemgr->db);
	judge_free(nodemgr->judge);
	power_free(nodemgr->power);
	upkeep_free(nodemgr->upkeep);
	event_free(nodemgr->heartbeat);
	event_free(nodemgr->sessions);
	free(nodemgr->name);
	free(nodemgr);
}
