/* judge.c - calls api.node_judge every nodemgr.period seconds, which marks nodes as down whose leases have run out, and logs the
 * changes of state.
 *
 * Called by: nodemgr.c.
 * Invariants:
 * - The database decides. So any number of node managers may run, independently of each other.
 * - At most one call of api.node_judge (a poll) is under way.
 * - Leases are times of the database's clock. Only a time counts in which the database's clock has run as steadily as this
 *   machine's: since this connection was made, and since that clock was last set forward. So leases that nodes could not renew
 *   while the database was away do not count as missed at once. */
#include "nodemgr/judge.h"

#include <stdio.h>
#include <stdlib.h>

#include "lib/clock.h"
#include "lib/err.h"
#include "lib/log.h"
#include "nodemgr/watch.h"

struct judge {
	struct db *db;
	struct event *timer;
	bool polling;
	int64_t asked_at; /* when the poll under way was sent, by clock_boot_us() */
	struct watch watch;
};

static void judge_read_clock(struct judge *judge, int64_t clock)
{
	if (!watch_read(&judge->watch, clock, judge->asked_at, clock_boot_us()))
		log_warning("the database's clock was set forward; leases of nodes count anew from now on");
}

static void judge_answered(struct db *db, PGresult *result, const struct err *e, void *arg)
{
	struct judge *judge = arg;

	(void)db;
	judge->polling = false;
	if (!result) {
		log_error("could not check the leases and the health of nodes: %s %s", e->code, e->message);
		return;
	}
	for (int i = 0; i < PQntuples(result); i++) {
		const char *reason = db_text(result, i, "reason");

		if (i == 0)
			judge_read_clock(judge, strtoll(db_text(result, i, "clock"), NULL, 10));
		if (!*db_text(result, i, "node"))
			continue;
		log_info("node %s is %s, was %s%s%s", db_text(result, i, "node"), db_text(result, i, "to_state"),
			 db_text(result, i, "from_state"), *reason ? ": " : "", reason);
	}
}

static void judge_poll(evutil_socket_t fd, short what, void *arg)
{
	struct judge *judge = arg;
	char latest[24], watched[16];

	(void)fd;
	(void)what;
	if (judge->polling || !db_is_up(judge->db))
		return;
	judge->polling = true;
	judge->asked_at = clock_boot_us();
	snprintf(latest, sizeof latest, "%lld", (long long)watch_latest(&judge->watch, judge->asked_at));
	snprintf(watched, sizeof watched, "%d", watch_seconds(&judge->watch, judge->asked_at));
	db_call(judge->db, API_node_judge, (struct db_param[]){{judge->watch.since > 0 ? latest : NULL, -1}, {watched, -1}}, 2,
		judge_answered, judge);
}

struct judge *judge_new(struct event_base *base, const struct conf *conf, struct db *db)
{
	struct judge *judge = xcalloc(1, sizeof *judge);

	judge->db = db;
	judge->timer = event_new(base, -1, EV_PERSIST, judge_poll, judge);
	event_add(judge->timer, &(struct timeval){.tv_sec = conf->nodemgr_period});
	return judge;
}

void judge_free(struct judge *judge)
{
	event_free(judge->timer);
	free(judge);
}

void judge_reset(struct judge *judge)
{
	judge->watch = (struct watch){0};
}
