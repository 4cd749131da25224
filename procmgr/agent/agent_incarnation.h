/* agent_incarnation.h - the incarnation of the database to which this procmgrd belongs. */
#ifndef ROTA_PROCMGR_AGENT_INCARNATION_H
#define ROTA_PROCMGR_AGENT_INCARNATION_H

#include "procmgr/agent/agent_order.h"

struct agent_incarnation;

/* Calls `known` when the database has named its incarnation, if that is the one with which this procmgrd has worked, or the first
 * one that it meets. In another incarnation, procmgrd ends. */
struct agent_incarnation *agent_incarnation_new(const struct agent_context *c, const struct agent_orders *orders,
						void (*known)(void *arg), void *arg);
void agent_incarnation_free(struct agent_incarnation *i);

/* Ask the database for its incarnation, unless it has named it on this connection or a call is under way. */
void agent_incarnation_ask(struct agent_incarnation *i);
void agent_incarnation_disconnected(struct agent_incarnation *i);
/* Has the database named its incarnation on this connection? */
bool agent_incarnation_is_known(const struct agent_incarnation *i);

#endif
