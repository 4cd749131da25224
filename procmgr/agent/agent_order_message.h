/* agent_order_message.h - an order as messages to the launcher. */
#ifndef ROTA_PROCMGR_AGENT_ORDER_MESSAGE_H
#define ROTA_PROCMGR_AGENT_ORDER_MESSAGE_H

#include "procmgr/agent/agent_launcher.h"
#include "procmgr/agent/agent_order_read.h"

/* The control message for an order of this kind with these arguments (JSON); NULL where the arguments cannot be read. */
struct fields *agent_order_control(const char *kind, const struct record_key *key, const char *args, struct err *e);

/* Send the order for `count` of its attempts. cancelled: the launcher is to refuse them. Returns the number of messages; 0
 * where the order cannot be sent, which is logged. */
int agent_order_send(struct agent_launcher *l, const struct agent_order *o, const struct agent_start *starts, int count,
		     bool cancelled);

#endif
