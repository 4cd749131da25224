/* agent_incarnation.c - finds out whether the database is still the one that this procmgrd has worked with.
 *
 * Called by: agent.c after each connect, before it registers the nodes.
 * Invariants:
 * - What procmgrd remembers (orders, acknowledged records) holds for one incarnation of the database. In another one, procmgrd ends
 *   before it registers, and the launcher starts it again: all records of the journal are reported once more. */
#include "procmgr/agent/agent_incarnation.h"

#include <stdio.h>
#include <stdlib.h>

#include "lib/log.h"
#include "procmgr/agent/agent_db.h"

struct agent_incarnation {
	const struct agent_context *context;
	const struct agent_orders *orders;
	void (*known)(void *arg);
	void *arg;
	int number; /* incarnation with which this procmgrd works; 0: none is known yet */
	bool is_asking, is_known;
};

static void handle_incarnation(struct db *db, PGresult *result, const struct err *e, void *arg)
{
	(void)db;
	struct agent_incarnation *i = arg;
	i->is_asking = false;
	if (!result || PQntuples(result) == 0) {
		log_warning("could not read the incarnation of the database: %s", e->message);
		return;
	}
	int number = atoi(agent_db_text(result, 0, "node_incarnation"));
	if (i->number > 0 && number != i->number) {
		log_warning("the database was promoted or restored (incarnation %d, before that %d): procmgrd starts again, to "
			    "report all "
			    "records of the journal",
			    number, i->number);
		event_base_loopbreak(i->context->base);
		return;
	}
	i->number = number;
	i->is_known = true;
	i->known(i->arg);
}

void agent_incarnation_ask(struct agent_incarnation *i)
{
	char job[24], order[24];
	int64_t newest_job, newest_order;
	if (i->is_asking || i->is_known)
		return;
	agent_order_newest(i->orders, &newest_job, &newest_order);
	snprintf(job, sizeof job, "%lld", (long long)newest_job);
	snprintf(order, sizeof order, "%lld", (long long)newest_order);
	i->is_asking = true;
	const struct db_param params[] = {{job, -1}, {order, -1}};
	db_call(i->context->db, API_node_incarnation, params, 2, handle_incarnation, i);
}

void agent_incarnation_disconnected(struct agent_incarnation *i)
{
	i->is_asking = i->is_known = false;
}

bool agent_incarnation_is_known(const struct agent_incarnation *i)
{
	return i->is_known;
}

struct agent_incarnation *agent_incarnation_new(const struct agent_context *c, const struct agent_orders *orders,
						void (*known)(void *arg), void *arg)
{
	struct agent_incarnation *i = xcalloc(1, sizeof *i);
	*i = (struct agent_incarnation){.context = c, .orders = orders, .known = known, .arg = arg};
	return i;
}

void agent_incarnation_free(struct agent_incarnation *i)
{
	free(i);
}
