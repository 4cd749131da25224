/* agent_order_launch.h - when launch requests in the list of orders are sent to the launcher, and for which of their attempts. */
#ifndef ROTA_PROCMGR_AGENT_ORDER_LAUNCH_H
#define ROTA_PROCMGR_AGENT_ORDER_LAUNCH_H

#include "procmgr/agent/agent_order_list.h"

struct agent_order_launches; /* the attempts that run on this node, and those that the journal has answered lately */

/* The list belongs to the caller, who keeps it as long as the result. */
struct agent_order_launches *agent_order_launch_new(const struct agent_context *c, struct agent_order_list *list);
void agent_order_launch_free(struct agent_order_launches *ls);

/* Handle an order that was inserted into the list: its concurrency limit is at least the number of elements that run. */
void agent_order_launch_adopt(const struct agent_order_launches *ls, struct agent_order *o);

/* Mark the attempts of a launch request that the journal has answered already. */
void agent_order_launch_recall(const struct agent_order_launches *ls, struct agent_order *o);

/* Send a launch request whose files are in the cache for the attempts that may start now. It is sent (AGENT_ORDER_SENT) when that
 * is done for all of them. */
void agent_order_launch_send(struct agent_order_launches *ls, struct agent_order *o);

/* Let the launcher refuse an attempt of a launch request that has not been sent. */
void agent_order_launch_cancel(const struct agent_order_launches *ls, const struct agent_order *launch,
			       struct agent_start *start);

/* Let the launcher refuse the elements that an order "withdraw" names and that have not been sent. Launch requests have lower ids,
 * so theirs are in the list. */
void agent_order_launch_withdraw(const struct agent_order_launches *ls, const struct agent_order *o);

/* Handle the journal's answer to a launch request for one attempt. Returns false if `o` is no launch request for the attempt, or was
 * not sent. */
bool agent_order_launch_answer(struct agent_order_launches *ls, struct agent_order *o, const struct record_key *key);

/* Handle a record of the journal that may change the number of running elements. */
void agent_order_launch_record(struct agent_order_launches *ls, const struct record_key *key, const struct fields *record);

/* Returns the number of attempts that wait for free CPUs or for another attempt. agent_order_launch_send() adds those of its order;
 * agent_order_launch_count_anew() sets the number to 0. */
int agent_order_launch_waiting_count(const struct agent_order_launches *ls);
void agent_order_launch_count_anew(struct agent_order_launches *ls);

#endif
