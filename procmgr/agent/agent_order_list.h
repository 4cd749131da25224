/* agent_order_list.h - the list of orders that this node has not finished. */
#ifndef ROTA_PROCMGR_AGENT_ORDER_LIST_H
#define ROTA_PROCMGR_AGENT_ORDER_LIST_H

#include <jansson.h>

#include "procmgr/agent/agent_order_read.h"

struct agent_order_list {
	struct agent_order *item; /* sorted by id */
	int count, capacity;
};

/* Returns the order with this id, or NULL. */
struct agent_order *agent_order_list_find(struct agent_order_list *l, int64_t id);
/* Insert a copy of an order that is not in the list. Its allocated members then belong to the list. Pointers to other orders
 * become invalid. */
struct agent_order *agent_order_list_insert(struct agent_order_list *l, const struct agent_order *o);
void agent_order_list_remove(struct agent_order_list *l, enum agent_order_state state); /* remove all orders in the state */
void agent_order_list_clear(struct agent_order_list *l);

/* Returns the ids that all orders of the list have in the database. The caller frees the array. */
struct db_array *agent_order_list_ids(const struct agent_order_list *l);
/* Does an order before the one at index `at` send the same signal to the same attempts, and still wait? One of the two orders is
 * enough, and a flood of signals must not delay the end of the step. */
bool agent_order_list_repeats_signal(const struct agent_order_list *l, int at);

/* Returns the ids of the done orders, which count as reported from now on, as a new JSON reference. */
json_t *agent_order_list_report(struct agent_order_list *l);
void agent_order_list_report_failed(struct agent_order_list *l); /* reported orders become done again */

#endif
