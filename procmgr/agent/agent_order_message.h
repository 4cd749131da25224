/* agent_order_message.h - makes messages to the launcher from an order. */
#ifndef ROTA_PROCMGR_AGENT_ORDER_MESSAGE_H
#define ROTA_PROCMGR_AGENT_ORDER_MESSAGE_H

#include "procmgr/agent/agent_launcher.h"
#include "procmgr/agent/agent_order_read.h"

/* Make the control message for an order of kind `kind` with the JSON arguments `args` and, of kind `agent`, the key `secret`. Returns
 * NULL if the arguments cannot be read. */
struct fields *agent_order_control(const char *kind, const struct record_key *key, const char *args, const char *secret,
				   struct err *e);

/* Send the order to the launcher for `count` of its attempts. If `cancelled`, the launcher refuses these attempts. Returns the
 * number of messages. Logs an error and returns 0 if the order cannot be sent. */
int agent_order_send(struct agent_launcher *l, const struct agent_order *o, const struct agent_start *starts, int count,
		     bool cancelled);

#endif
