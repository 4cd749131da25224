/* agent_incarnation.h - the incarnation of the database to which this procmgrd belongs. */
#ifndef ROTA_PROCMGR_AGENT_INCARNATION_H
#define ROTA_PROCMGR_AGENT_INCARNATION_H

#include "procmgr/agent/agent_order.h"

struct agent_incarnation;

/* `known` is called when the database is of the incarnation that it was of before, or of the first one that this procmgrd meets. */
struct agent_incarnation *agent_incarnation_new(const struct agent_context *c, const struct agent_orders *orders,
						void (*known)(void *arg), void *arg);
void agent_incarnation_free(struct agent_incarnation *i);

/* Ask the database for its incarnation, unless it has answered on this connection or is asked. */
void agent_incarnation_ask(struct agent_incarnation *i);
void agent_incarnation_disconnected(struct agent_incarnation *i);
/* Has the database named its incarnation on this connection? */
bool agent_incarnation_is_known(const struct agent_incarnation *i);

#endif
