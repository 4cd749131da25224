/* agent_order.h - the orders that this node has and has not done yet. */
#ifndef ROTA_PROCMGR_AGENT_ORDER_H
#define ROTA_PROCMGR_AGENT_ORDER_H

#include <jansson.h>

#include "procmgr/agent/agent_context.h"
#include "procmgr/agent/agent_order_read.h"

struct agent_orders;

/* Callbacks of the orders. agent.c registers them. */
struct agent_order_watcher {
	void (*received)(void *arg);	       /* the database has listed its orders */
	void (*polled)(void *arg);	       /* agent_order_poll has run: agent_order_waiting_count may have changed */
	void (*done)(int64_t usec, void *arg); /* an order is done; report that within so many microseconds */
	void (*accepted)(const struct agent_order *o, const struct record_key *key,
			 void *arg); /* a launch that is to be sampled */
	void *arg;
};

/* The caller keeps `watcher`. */
struct agent_orders *agent_order_new(const struct agent_context *c, const struct agent_order_watcher *watcher);
void agent_order_free(struct agent_orders *os);

int agent_order_count(const struct agent_orders *os);
bool agent_order_has_all(const struct agent_orders *os); /* every order of the database is here, since the connection is up */
int agent_order_waiting_count(const struct agent_orders *os); /* pre-dispatched elements that wait for free CPUs */

void agent_order_ask(struct agent_orders *os);				       /* ask the database for new orders */
void agent_order_poll(struct agent_orders *os);				       /* send to the launcher what can be sent now */
void agent_order_record(struct agent_orders *os, const struct fields *record); /* the journal has a new record */
/* The journal had this record before procmgrd started: a launch that it answers must not be sent again. */
void agent_order_recall(struct agent_orders *os, const struct fields *record);
/* The launcher answers a control message. taken false: its keeper cannot take it now. */
void agent_order_answered(struct agent_orders *os, int64_t id, bool taken);

void agent_order_disconnected(struct agent_orders *os);
void agent_order_drop_waiting(struct agent_orders *os); /* the database lists those that are still valid again */

json_t *agent_order_report(struct agent_orders *os);	   /* ids of orders that are done, for a report; new reference */
void agent_order_report_failed(struct agent_orders *os);   /* the database may not have that report */
void agent_order_report_accepted(struct agent_orders *os); /* the database has it */

#endif
