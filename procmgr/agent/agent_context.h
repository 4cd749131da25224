/* agent_context.h - objects that all files of the agent use. Only agent.c changes them, except for `clock`. */
#ifndef ROTA_PROCMGR_AGENT_CONTEXT_H
#define ROTA_PROCMGR_AGENT_CONTEXT_H

#include <event2/event.h>

#include "lib/conf.h"
#include "lib/db.h"
#include "procmgr/agent/agent_clock.h"

struct agent_context {
	const struct conf *conf;
	const char *node; /* the node's name; a virtual node's name has a number appended */
	struct event_base *base;
	struct db *db;
	struct agent_launcher *launcher; /* the connection to the launcher */
	struct agent_nodes *nodes;	 /* this agent's nodes that are registered in the database */
	struct agent_lease *lease;
	struct agent_clock *clock; /* estimate of the database's clock; compared with each answer that has the time */
	bool stopping;		   /* SIGTERM came: report the rest of the journal, then exit */
};

#endif
