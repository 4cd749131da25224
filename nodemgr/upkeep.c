/* upkeep.c - calls api.usage_roll every nodemgr.period seconds, which adds ended attempts to the usage figures, and
 * api.range_ensure every minute, which makes table ranges ahead of need.
 *
 * Called by: nodemgr.c.
 * Invariants:
 * - Both calls do the same work whichever nodemgrd makes them, so any number of node managers may run.
 * - One call of api.usage_roll is under way at a time. */
#include "nodemgr/upkeep.h"

#include <stdio.h>
#include <stdlib.h>

#include "lib/err.h"
#include "lib/log.h"

enum {
	UPKEEP_ROLL = 1000, /* rows of rota.usage_pending in one call, since each call has the cost of a query plan */
	UPKEEP_RANGES = 60  /* seconds between calls of api.range_ensure */
};

struct upkeep {
	struct db *db;
	struct event *roll, *ranges;
	bool rolling;
};

static void upkeep_call_roll(struct upkeep *upkeep);

static void upkeep_roll_answered(struct db *db, PGresult *result, const struct err *e, void *arg)
{
	struct upkeep *upkeep = arg;

	(void)db;
	upkeep->rolling = false;
	if (!result)
		log_error("could not add up usage: %s %s", e->code, e->message);
	else if (strtol(PQgetvalue(result, 0, 0), NULL, 10) == UPKEEP_ROLL)
		upkeep_call_roll(upkeep);
}

static void upkeep_call_roll(struct upkeep *upkeep)
{
	char limit[16];

	if (upkeep->rolling || !db_is_up(upkeep->db))
		return;
	upkeep->rolling = true;
	snprintf(limit, sizeof limit, "%d", UPKEEP_ROLL);
	db_call(upkeep->db, API_usage_roll, (struct db_param[]){{limit, -1}}, 1, upkeep_roll_answered, upkeep);
}

static void upkeep_roll(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	upkeep_call_roll(arg);
}

static void upkeep_ranges_answered(struct db *db, PGresult *result, const struct err *e, void *arg)
{
	(void)db;
	(void)arg;
	if (!result)
		log_error("could not make the next ranges of the job tables: %s %s", e->code, e->message);
}

static void upkeep_ranges(evutil_socket_t fd, short what, void *arg)
{
	struct upkeep *upkeep = arg;

	(void)fd;
	(void)what;
	if (db_is_up(upkeep->db))
		db_call(upkeep->db, API_range_ensure, NULL, 0, upkeep_ranges_answered, NULL);
}

struct upkeep *upkeep_new(struct event_base *base, const struct conf *conf, struct db *db)
{
	struct upkeep *upkeep = xcalloc(1, sizeof *upkeep);

	upkeep->db = db;
	upkeep->roll = event_new(base, -1, EV_PERSIST, upkeep_roll, upkeep);
	upkeep->ranges = event_new(base, -1, EV_PERSIST, upkeep_ranges, upkeep);
	event_add(upkeep->roll, &(struct timeval){.tv_sec = conf->nodemgr_period});
	event_add(upkeep->ranges, &(struct timeval){.tv_sec = UPKEEP_RANGES});
	return upkeep;
}

void upkeep_free(struct upkeep *upkeep)
{
	event_free(upkeep->roll);
	event_free(upkeep->ranges);
	free(upkeep);
}

void upkeep_start(struct upkeep *upkeep)
{
	upkeep_ranges(-1, 0, upkeep);
}
