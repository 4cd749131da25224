/* agent_order_fetch.c - reads the orders of this node from the database (agent_order_fetch.h).
 *
 * Called by: agent_order.c.
 * Invariants:
 * - One call is under way at a time. Each names the known orders, so the answer has only others.
 * - An answer has ORDERS_AT_ONCE orders at most. If it is full, another call follows. */
#include "procmgr/agent/agent_order_fetch.h"

#include <stdio.h>
#include <stdlib.h>

#include "lib/log.h"
#include "procmgr/agent/agent_node.h"

enum { ORDERS_AT_ONCE = 4000 };

struct agent_order_fetch {
	const struct agent_context *context;
	const struct agent_order_reader *reader;
	bool is_asking, ask_again; /* a call is under way; another call has to follow */
	bool is_answer_stale;	   /* orders that the call named as known were dropped, so its answer lacks them */
	bool has_all;
};

static db_answer handle_orders;

static void call_node_orders(struct agent_order_fetch *f)
{
	struct db_array *nodes = agent_node_array(f->context->nodes), *known = f->reader->known(f->reader->arg);
	char most[12];
	snprintf(most, sizeof most, "%d", ORDERS_AT_ONCE);
	const struct db_param params[] = {{db_array_literal(nodes), -1}, {db_array_literal(known), -1}, {most, -1}};
	f->is_asking = true;
	db_call(f->context->db, API_node_orders, params, 3, handle_orders, f);
	db_array_free(nodes);
	db_array_free(known);
}

static void handle_orders(struct db *db, PGresult *result, const struct err *e, void *arg)
{
	(void)db;
	struct agent_order_fetch *f = arg;
	bool is_stale = f->is_answer_stale;
	f->is_asking = f->is_answer_stale = false;
	if (!result) {
		log_warning("could not read launch requests and control messages from the database: %s", e->message);
		return;
	}
	if (is_stale) {
		call_node_orders(f);
		return;
	}
	if (f->reader->take(result, f->reader->arg) >= ORDERS_AT_ONCE) {
		call_node_orders(f);
	} else {
		f->has_all = true;
		if (f->ask_again)
			agent_order_fetch_ask(f);
	}
	f->reader->received(f->reader->arg);
}

void agent_order_fetch_ask(struct agent_order_fetch *f)
{
	f->ask_again = f->is_asking;
	if (agent_node_count(f->context->nodes) > 0 && !f->is_asking && !f->context->stopping)
		call_node_orders(f);
}

bool agent_order_fetch_has_all(const struct agent_order_fetch *f)
{
	return f->has_all;
}

void agent_order_fetch_dropped(struct agent_order_fetch *f)
{
	f->is_answer_stale = f->is_asking;
}

void agent_order_fetch_disconnected(struct agent_order_fetch *f)
{
	f->has_all = f->is_asking = f->ask_again = f->is_answer_stale = false;
}

struct agent_order_fetch *agent_order_fetch_new(const struct agent_context *c, const struct agent_order_reader *reader)
{
	struct agent_order_fetch *f = xcalloc(1, sizeof *f);
	f->context = c;
	f->reader = reader;
	return f;
}

void agent_order_fetch_free(struct agent_order_fetch *f)
{
	free(f);
}
