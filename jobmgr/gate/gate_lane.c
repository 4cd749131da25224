/* gate_lane.c - some connections side by side, each call on the one with the fewest calls under way.
 *
 * gate.c opens them, gate_call.c calls through them. What always holds: a connection answers in order, so a call never waits
 * for more than those before it in its own lane; the first lane listens for bells, and it alone is spoken of in the log. Calls of
 * one client need no order among each other: it asks the next thing when it has the answer, and by then that is committed. */
#include "jobmgr/gate/gate_lane.h"

#include <stdlib.h>

#include "lib/err.h"
#include "lib/log.h"

enum { LANES = 4 };

struct gate_lane {
	struct gate_lanes *all;
	struct db *db;
	struct db_watcher watcher;
	unsigned busy; /* calls under way */
};

struct gate_lanes {
	struct gate_lane lane[LANES];
	void (*bell)(void *arg);
	void *arg;
};

static void lane_up(struct db *db, void *arg)
{
	struct gate_lane *lane = arg;

	(void)db;
	if (lane != lane->all->lane)
		return;
	log_info("the gate is connected to the database");
	lane->all->bell(lane->all->arg); /* what rang meanwhile was not heard */
}

static void lane_down(struct db *db, const struct err *e, void *arg)
{
	const struct gate_lane *lane = arg;

	(void)db;
	if (lane == lane->all->lane)
		log_warning("the gate has no database: %s", e->message);
}

static void lane_bell(struct db *db, const char *channel, void *arg)
{
	struct gate_lane *lane = arg;

	(void)db;
	(void)channel;
	lane->all->bell(lane->all->arg);
}

struct gate_lanes *gate_lanes_open(struct event_base *base, const struct conf *conf, void (*bell)(void *arg), void *arg)
{
	static const char *const channels[] = {"rota_event", NULL};
	struct gate_lanes *lanes = xcalloc(1, sizeof *lanes);
	char *conninfo = db_conninfo(conf, "rota_jobmgr", "jobmgrd gate");

	lanes->bell = bell;
	lanes->arg = arg;
	for (int i = 0; i < LANES; i++) {
		struct gate_lane *lane = &lanes->lane[i];

		lane->all = lanes;
		lane->watcher = (struct db_watcher){.up = lane_up, .down = lane_down, .bell = lane_bell, .arg = lane};
		lane->db = db_open(base, conninfo, API_JOBMGR, i == 0 ? channels : channels + 1, &lane->watcher);
	}
	free(conninfo);
	return lanes;
}

void gate_lanes_close(struct gate_lanes *lanes)
{
	if (!lanes)
		return;
	for (int i = 0; i < LANES; i++)
		db_close(lanes->lane[i].db);
	free(lanes);
}

bool gate_lanes_up(const struct gate_lanes *lanes)
{
	for (int i = 0; i < LANES; i++) {
		if (db_is_up(lanes->lane[i].db))
			return true;
	}
	return false;
}

/* The connected lane with the least to do; the first one where none is. */
static struct gate_lane *lane_pick(struct gate_lanes *lanes)
{
	struct gate_lane *best = NULL;

	for (int i = 0; i < LANES; i++) {
		struct gate_lane *lane = &lanes->lane[i];

		if (db_is_up(lane->db) && (!best || lane->busy < best->busy))
			best = lane;
	}
	return best ? best : lanes->lane;
}

struct gate_lane *gate_lane_call(struct gate_lanes *lanes, enum api_function function, const struct db_param *params, int count,
				 db_answer *answer, void *arg)
{
	struct gate_lane *lane = lane_pick(lanes);

	lane->busy++;
	db_call(lane->db, function, params, count, answer, arg);
	return lane;
}

void gate_lane_done(struct gate_lane *lane)
{
	lane->busy--;
}
