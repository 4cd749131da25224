/* gate_lane.c - some connections side by side, one call under way on each; a call that finds none free waits in line.
 *
 * gate.c opens them, gate_call.c calls through them. What always holds: no call waits behind another on its connection, so a slow
 * one holds up nobody; of one holder's calls HOLDER_MOST are under way at the most, so somebody else's find a connection; bells have
 * a connection of their own, for PostgreSQL rings between calls only. Calls of one client need no order among each other: it asks
 * the next thing when it has the answer, and by then that is committed. */
#include "jobmgr/gate/gate_lane.h"

#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "lib/err.h"
#include "lib/log.h"

enum { LANES = 4, HOLDER_MOST = LANES - 1 };

struct gate_lane {
	struct gate_lanes *all;
	struct db *db;
	struct db_watcher watcher;
	unsigned busy; /* calls under way: one, but while it is down any number may be about to fail */
};

struct gate_ask {
	struct gate_lanes *all;
	struct gate_lane *lane; /* NULL: waits for one */
	unsigned *held;		/* how many calls of its holder are under way; NULL: it is nobody's */
	enum api_function function;
	struct db_param *params; /* kept while it waits */
	int count;
	db_answer *answer;
	void *arg;
	TAILQ_ENTRY(gate_ask) link; /* in the line */
};

struct gate_lanes {
	struct gate_lane lane[LANES];
	struct db *bells;
	struct db_watcher watcher;
	TAILQ_HEAD(, gate_ask) line; /* who came first is first */
	void (*bell)(void *arg);
	void *arg;
};

/* asks */

static struct db_param param_copy(const struct db_param *param)
{
	unsigned long size = !param->value ? 0 : param->size < 0 ? strlen(param->value) : (unsigned long)param->size;
	char *copy = param->value ? xmalloc(size + 1) : NULL;

	if (copy) {
		memcpy(copy, param->value, size);
		copy[size] = '\0';
	}
	return (struct db_param){copy, param->size};
}

static void ask_wait(struct gate_ask *ask, const struct db_param *params, int count)
{
	ask->params = xcalloc((unsigned long)count + 1, sizeof *params);
	ask->count = count;
	for (int i = 0; i < count; i++)
		ask->params[i] = param_copy(&params[i]);
	TAILQ_INSERT_TAIL(&ask->all->line, ask, link);
}

static void ask_free(struct gate_ask *ask)
{
	for (int i = 0; i < ask->count; i++)
		free((char *)ask->params[i].value);
	free(ask->params);
	free(ask);
}

static bool ask_may(const struct gate_ask *ask)
{
	return !ask->held || *ask->held < HOLDER_MOST;
}

/* Out of the line, and never answered. */
static void line_leave(struct gate_ask *ask)
{
	TAILQ_REMOVE(&ask->all->line, ask, link);
	ask_free(ask);
}

/* A connection that is free; where none is up the first, which fails the call; NULL: all have something to do. */
static struct gate_lane *lane_pick(struct gate_lanes *lanes)
{
	struct gate_lane *pick = lanes->lane;

	for (int i = 0; i < LANES; i++) {
		struct gate_lane *lane = &lanes->lane[i];

		if (!db_is_up(lane->db))
			continue;
		if (lane->busy == 0)
			return lane;
		pick = NULL;
	}
	return pick;
}

static void line_move(struct gate_lanes *lanes);

static void lane_answered(struct db *db, PGresult *result, const struct err *e, void *arg)
{
	struct gate_ask *ask = arg;

	ask->lane->busy--;
	if (ask->held)
		--*ask->held;
	line_move(ask->all);
	ask->answer(db, result, e, ask->arg);
	ask_free(ask);
}

static void ask_send(struct gate_ask *ask, struct gate_lane *lane, const struct db_param *params, int count)
{
	ask->lane = lane;
	lane->busy++;
	if (ask->held)
		++*ask->held;
	db_call(lane->db, ask->function, params, count, lane_answered, ask);
}

/* Send what may be sent. */
static void line_move(struct gate_lanes *lanes)
{
	struct gate_ask *ask = TAILQ_FIRST(&lanes->line), *next;
	struct gate_lane *lane;

	for (; ask && (lane = lane_pick(lanes)); ask = next) {
		next = TAILQ_NEXT(ask, link);
		if (!ask_may(ask))
			continue;
		TAILQ_REMOVE(&lanes->line, ask, link);
		ask_send(ask, lane, ask->params, ask->count);
	}
}

struct gate_ask *gate_lane_call(struct gate_lanes *lanes, unsigned *held, enum api_function function,
				const struct db_param *params, int count, db_answer *answer, void *arg)
{
	struct gate_ask *ask = xcalloc(1, sizeof *ask);
	struct gate_lane *lane;

	ask->all = lanes;
	ask->held = held;
	ask->function = function;
	ask->answer = answer;
	ask->arg = arg;
	lane = ask_may(ask) ? lane_pick(lanes) : NULL;
	if (lane)
		ask_send(ask, lane, params, count);
	else
		ask_wait(ask, params, count);
	return ask;
}

bool gate_lane_withdraw(struct gate_ask *ask)
{
	if (ask->lane)
		return false;
	line_leave(ask);
	return true;
}

/* connections */

static void lane_up(struct db *db, void *arg)
{
	struct gate_lane *lane = arg;

	(void)db;
	if (lane == lane->all->lane) /* one speaks for all of them */
		log_info("the gate is connected to the database");
	line_move(lane->all);
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
	(void)db, (void)channel, (void)arg; /* it listens to none */
}

/* What rang while there was no connection was not heard. */
static void bells_up(struct db *db, void *arg)
{
	struct gate_lanes *lanes = arg;

	(void)db;
	lanes->bell(lanes->arg);
}

static void bells_down(struct db *db, const struct err *e, void *arg)
{
	(void)db, (void)e, (void)arg; /* the lanes tell of that */
}

static void bells_ring(struct db *db, const char *channel, void *arg)
{
	(void)channel;
	bells_up(db, arg);
}

struct gate_lanes *gate_lanes_open(struct event_base *base, const struct conf *conf, void (*bell)(void *arg), void *arg)
{
	static const char *const channels[] = {"rota_event", NULL};
	struct gate_lanes *lanes = xcalloc(1, sizeof *lanes);
	char *conninfo = db_conninfo(conf, "rota_jobmgr", "jobmgrd gate");

	TAILQ_INIT(&lanes->line);
	lanes->bell = bell;
	lanes->arg = arg;
	lanes->watcher = (struct db_watcher){.up = bells_up, .down = bells_down, .bell = bells_ring, .arg = lanes};
	lanes->bells = db_open(base, conninfo, 0, channels, &lanes->watcher);
	for (int i = 0; i < LANES; i++) {
		struct gate_lane *lane = &lanes->lane[i];

		lane->all = lanes;
		lane->watcher = (struct db_watcher){.up = lane_up, .down = lane_down, .bell = lane_bell, .arg = lane};
		lane->db = db_open(base, conninfo, API_JOBMGR, NULL, &lane->watcher);
	}
	free(conninfo);
	return lanes;
}

void gate_lanes_close(struct gate_lanes *lanes)
{
	if (!lanes)
		return;
	while (!TAILQ_EMPTY(&lanes->line))
		line_leave(TAILQ_FIRST(&lanes->line));
	for (int i = 0; i < LANES; i++)
		db_close(lanes->lane[i].db);
	db_close(lanes->bells);
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
