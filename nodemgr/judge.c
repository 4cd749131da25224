/* judge.c - every nodemgr.period seconds api.node_judge says which nodes changed their state, and the log says it to people;
 * what has ended since the look before goes into the usage figures (api.usage_roll); every minute api.range_ensure makes the table ranges
 * ahead of need.
 *
 * nodemgrd's main opens it. What always holds: nothing is decided here, so any number of node managers may run and none needs to
 * know of the others; one look is under way at a time. Leases are times of the database's clock, so nobody is judged for longer than
 * that clock has been seen to run as steadily as ours: since this connection was made (while the database was away it could not hear
 * anybody, and within one lease every node that lives renews its own), and since it was last set forward. */
#include "nodemgr/judge.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/clock.h"
#include "lib/db.h"
#include "lib/err.h"
#include "lib/log.h"
#include "nodemgr/watch.h"

enum { JUDGE_ROLL = 1000 };			  /* rows of rota.usage_due that one call adds up: planning is paid by the call */
enum { JUDGE_RANGES = 60, JUDGE_HEARTBEAT = 10 }; /* seconds between calls of range_ensure, and between registrations */

struct judge {
	char *name;
	struct db *db;
	struct db_watcher watcher;
	struct event *look, *ranges, *heartbeat;
	bool looking, rolling;
	int64_t asked_at; /* when the look under way was sent, by our clock */
	struct watch watch;
};

/* A column of the answer, "" for null. */
static const char *text_of(const PGresult *result, int row, const char *column)
{
	int field = PQfnumber(result, column);

	return field < 0 ? "" : PQgetvalue(result, row, field);
}

static void clock_read(struct judge *judge, int64_t clock)
{
	if (!watch_read(&judge->watch, clock, judge->asked_at, clock_boot_us()))
		log_warning("the database's clock was set forward; nodes are judged by what they do from now on");
}

static void judged(struct db *db, PGresult *result, const struct err *e, void *arg)
{
	struct judge *judge = arg;

	(void)db;
	judge->looking = false;
	if (!result) {
		log_error("nodes could not be judged: %s %s", e->code, e->message);
		return;
	}
	for (int i = 0; i < PQntuples(result); i++) {
		const char *reason = text_of(result, i, "reason");

		if (i == 0)
			clock_read(judge, strtoll(text_of(result, i, "clock"), NULL, 10));
		if (!*text_of(result, i, "node"))
			continue;
		log_info("node %s: %s, was %s%s%s", text_of(result, i, "node"), text_of(result, i, "to_state"),
			 text_of(result, i, "from_state"), *reason ? ": " : "", reason);
	}
}

static void judge_roll(struct judge *judge);

static void rolled(struct db *db, PGresult *result, const struct err *e, void *arg)
{
	struct judge *judge = arg;

	(void)db;
	judge->rolling = false;
	if (!result)
		log_error("usage could not be added up: %s %s", e->code, e->message);
	else if (strtol(PQgetvalue(result, 0, 0), NULL, 10) == JUDGE_ROLL)
		judge_roll(judge);
}

static void judge_roll(struct judge *judge)
{
	char limit[16];

	if (judge->rolling || !db_is_up(judge->db))
		return;
	judge->rolling = true;
	snprintf(limit, sizeof limit, "%d", JUDGE_ROLL);
	db_call(judge->db, API_usage_roll, (struct db_param[]){{limit, -1}}, 1, rolled, judge);
}

static void judge_look(evutil_socket_t fd, short what, void *arg)
{
	struct judge *judge = arg;
	char latest[24], watched[16];

	(void)fd;
	(void)what;
	if (judge->looking || !db_is_up(judge->db))
		return;
	judge->looking = true;
	judge->asked_at = clock_boot_us();
	snprintf(latest, sizeof latest, "%lld", (long long)watch_latest(&judge->watch, judge->asked_at));
	snprintf(watched, sizeof watched, "%d", watch_seconds(&judge->watch, judge->asked_at));
	db_call(judge->db, API_node_judge, (struct db_param[]){{judge->watch.since > 0 ? latest : NULL, -1}, {watched, -1}}, 2,
		judged, judge);
	judge_roll(judge);
}

static void said(struct db *db, PGresult *result, const struct err *e, void *arg)
{
	const char *what = arg;

	(void)db;
	if (!result)
		log_error("%s: %s %s", what, e->code, e->message);
}

static void judge_ranges(evutil_socket_t fd, short what, void *arg)
{
	struct judge *judge = arg;

	(void)fd;
	(void)what;
	if (db_is_up(judge->db))
		db_call(judge->db, API_range_ensure, NULL, 0, said, "table ranges could not be made");
}

static void judge_register(evutil_socket_t fd, short what, void *arg)
{
	struct judge *judge = arg;
	char pid[16];

	(void)fd;
	(void)what;
	if (!db_is_up(judge->db))
		return;
	snprintf(pid, sizeof pid, "%d", (int)getpid());
	db_call(judge->db, API_daemon_register,
		(struct db_param[]){{"nodemgrd", -1}, {judge->name, -1}, {pid, -1}, {ROTA_VERSION, -1}}, 4, said,
		"the database does not take this daemon down");
}

static void database_up(struct db *db, void *arg)
{
	struct judge *judge = arg;

	(void)db;
	log_info("connected to the database");
	judge->watch = (struct watch){0};
	judge_register(-1, 0, arg);
	judge_ranges(-1, 0, arg);
}

static void database_down(struct db *db, const struct err *e, void *arg)
{
	(void)db;
	(void)arg;
	log_warning("no database: %s", e->message);
}

/* It listens to nothing: it goes by the clock. */
static void database_bell(struct db *db, const char *channel, void *arg)
{
	(void)db;
	(void)channel;
	(void)arg;
}

static struct event *judge_every(struct event_base *base, int seconds, event_callback_fn act, struct judge *judge)
{
	struct timeval period = {.tv_sec = seconds};
	struct event *event = event_new(base, -1, EV_PERSIST, act, judge);

	event_add(event, &period);
	return event;
}

struct judge *judge_open(struct event_base *base, const struct conf *conf, const char *name)
{
	static const char *const channels[] = {NULL};
	struct judge *judge = xcalloc(1, sizeof *judge);
	char *conninfo = db_conninfo(conf, "rota_nodemgr", "nodemgrd");

	judge->name = xstrdup(name);
	judge->watcher = (struct db_watcher){.up = database_up, .down = database_down, .notified = database_bell, .arg = judge};
	judge->db = db_open(base, conninfo, API_NODEMGR, channels, &judge->watcher);
	judge->look = judge_every(base, conf->nodemgr_period, judge_look, judge);
	judge->ranges = judge_every(base, JUDGE_RANGES, judge_ranges, judge);
	judge->heartbeat = judge_every(base, JUDGE_HEARTBEAT, judge_register, judge);
	free(conninfo);
	return judge;
}

void judge_close(struct judge *judge)
{
	if (!judge)
		return;
	db_close(judge->db);
	event_free(judge->look);
	event_free(judge->ranges);
	event_free(judge->heartbeat);
	free(judge->name);
	free(judge);
}
