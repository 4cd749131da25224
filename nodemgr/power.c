/* power.c - calls api.power_judge, api.reboot_judge and api.evacuation_judge every nodemgr.period seconds, which have idle nodes
 * powered off and rebooted, check nodes whose power changes or that boot, and continue evacuations of nodes. Logs the changes.
 *
 * Called by: nodemgr.c.
 * Invariants:
 * - The database decides. So any number of node managers may run, independently of each other.
 * - The next calls are made when all calls of the last poll are answered. */
#include "nodemgr/power.h"

#include <stdbool.h>
#include <stdlib.h>

#include "lib/err.h"
#include "lib/log.h"

struct power {
	struct db *db;
	struct event *timer;
	int calls; /* number of calls that are not answered yet */
};

static void power_answered(struct db *db, PGresult *result, const struct err *e, void *arg)
{
	struct power *power = arg;

	(void)db;
	power->calls--;
	if (!result) {
		log_error("could not judge the power and the reboots of nodes: %s %s", e->code, e->message);
		return;
	}
	for (int i = 0; i < PQntuples(result); i++) {
		const char *reason = db_text(result, i, "reason");

		log_info("node %s is %s, was %s%s%s", db_text(result, i, "node"), db_text(result, i, "to_state"),
			 db_text(result, i, "from_state"), *reason ? ": " : "", reason);
	}
}

static void evacuation_answered(struct db *db, PGresult *result, const struct err *e, void *arg)
{
	struct power *power = arg;

	(void)db;
	power->calls--;
	if (!result) {
		log_error("could not continue evacuations of nodes: %s %s", e->code, e->message);
		return;
	}
	for (int i = 0; i < PQntuples(result); i++) {
		const char *nodes = db_text(result, i, "nodes"), *message = db_text(result, i, "message");

		log_info("evacuation %s of %s is %s%s%s", db_text(result, i, "evacuation_id"), *nodes ? nodes : "a job",
			 db_text(result, i, "state"), *message ? ": " : "", message);
	}
}

static void power_poll(evutil_socket_t fd, short what, void *arg)
{
	struct power *power = arg;

	(void)fd;
	(void)what;
	if (power->calls || !db_is_up(power->db))
		return;
	power->calls = 3;
	db_call(power->db, API_power_judge, NULL, 0, power_answered, power);
	db_call(power->db, API_reboot_judge, NULL, 0, power_answered, power);
	db_call(power->db, API_evacuation_judge, NULL, 0, evacuation_answered, power);
}

struct power *power_new(struct event_base *base, const struct conf *conf, struct db *db)
{
	struct power *power = xcalloc(1, sizeof *power);

	power->db = db;
	power->timer = event_new(base, -1, EV_PERSIST, power_poll, power);
	event_add(power->timer, &(struct timeval){.tv_sec = conf->nodemgr_period});
	return power;
}

void power_free(struct power *power)
{
	event_free(power->timer);
	free(power);
}
