/* agent_context.h - what every file of the agent uses, and none but agent.c changes. */
#ifndef ROTA_PROCMGR_AGENT_CONTEXT_H
#define ROTA_PROCMGR_AGENT_CONTEXT_H

#include <event2/event.h>

#include "lib/conf.h"
#include "lib/db.h"

struct agent_context {
	const struct conf *conf;
	const char *node; /* its name; a virtual node has a number after it */
	struct event_base *base;
	struct db *db;
	struct agent_launcher *launcher; /* the connection to the launcher */
	struct agent_nodes *nodes;	 /* those that the database has */
	struct agent_lease *lease;
	bool stopping; /* SIGTERM came: report what is left, then end */
};

#endif
