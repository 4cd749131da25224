/* agent_order_fetch.h - reads the orders of this node from the database. */
#ifndef ROTA_PROCMGR_AGENT_ORDER_FETCH_H
#define ROTA_PROCMGR_AGENT_ORDER_FETCH_H

#include "procmgr/agent/agent_context.h"

struct agent_order_fetch;

/* Callbacks of the owner of the orders. */
struct agent_order_reader {
	struct db_array *(*known)(void *arg);		/* returns the ids of the orders that need not be read, to be freed */
	int (*take)(const PGresult *result, void *arg); /* adds the orders of an answer; returns how many were new */
	void (*received)(void *arg);			/* the orders of an answer have been added */
	void *arg;
};

/* The caller keeps `reader` valid as long as the result. */
struct agent_order_fetch *agent_order_fetch_new(const struct agent_context *c, const struct agent_order_reader *reader);
void agent_order_fetch_free(struct agent_order_fetch *f);

/* Read new orders. While a call is under way, another call follows it. */
void agent_order_fetch_ask(struct agent_order_fetch *f);
/* Returns true if all orders that the database had at the latest call have been read on the current connection. */
bool agent_order_fetch_has_all(const struct agent_order_fetch *f);
/* Orders were dropped. The answer to a call under way lacks them, since the call named them as known: ignore it, and call again. */
void agent_order_fetch_dropped(struct agent_order_fetch *f);
void agent_order_fetch_disconnected(struct agent_order_fetch *f);

#endif
