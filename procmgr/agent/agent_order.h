/* agent_order.h - orders of the database that this node has not finished. */
#ifndef ROTA_PROCMGR_AGENT_ORDER_H
#define ROTA_PROCMGR_AGENT_ORDER_H

#include <jansson.h>

#include "procmgr/agent/agent_context.h"
#include "procmgr/agent/agent_order_read.h"

struct agent_orders;

/* Callbacks for events of orders. agent.c registers them. */
struct agent_order_watcher {
	void (*received)(void *arg);	       /* the database has answered with its list of orders */
	void (*polled)(void *arg);	       /* agent_order_poll has run, so agent_order_waiting_count may have changed */
	void (*done)(int64_t usec, void *arg); /* an order is done; report it to the database within `usec` microseconds */
	void (*accepted)(const struct agent_order *o, const struct record_key *key,
			 void *arg); /* the launcher accepted a launch request with sampling */
	void *arg;
};

/* `watcher` must stay valid until agent_order_free(). */
struct agent_orders *agent_order_new(const struct agent_context *c, const struct agent_order_watcher *watcher);
void agent_order_free(struct agent_orders *os);

/* Returns the credentials of the attempts that the orders start. */
struct agent_credentials *agent_order_credentials(const struct agent_orders *os);

int agent_order_count(const struct agent_orders *os);
/* Returns true if every order of the database has been received on the current connection. */
bool agent_order_has_all(const struct agent_orders *os);
/* Returns the number of pre-dispatched array elements that wait for free CPUs. */
int agent_order_waiting_count(const struct agent_orders *os);

void agent_order_ask(struct agent_orders *os); /* request new orders from the database */
/* Send all orders that can be sent now to the launcher. */
void agent_order_poll(struct agent_orders *os);
void agent_order_record(struct agent_orders *os, const struct fields *record); /* handle a new record of the journal */
/* Handle a record that the journal had before procmgrd started. A launch request that it answers is sent again all the same: only
 * the launcher knows whether the attempt is still on the node, and the database may be another one. */
void agent_order_recall(struct agent_orders *os, const struct fields *record);
/* Handle the launcher's answer to a control message. `taken` is false if the keeper cannot accept the message now. */
void agent_order_answered(struct agent_orders *os, int64_t id, bool taken);

/* Read the highest job number, and the highest id of an order, that the database has given since procmgrd started; 0: none. */
void agent_order_newest(const struct agent_orders *os, int64_t *job, int64_t *order);

void agent_order_disconnected(struct agent_orders *os);
void agent_order_drop_waiting(struct agent_orders *os); /* drop unsent orders; the database lists valid orders again */

/* Returns the ids of finished orders, for a report, as a new reference. */
json_t *agent_order_report(struct agent_orders *os);
void agent_order_report_failed(struct agent_orders *os); /* call if the last report may be lost: its orders are reported again */
void agent_order_report_accepted(struct agent_orders *os); /* call when the database has acknowledged the last report */

#endif
