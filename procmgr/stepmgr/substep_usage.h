/* substep_usage.h - measures how many CPUs and how much memory running sub-steps use now. */
#ifndef ROTA_PROCMGR_SUBSTEP_USAGE_H
#define ROTA_PROCMGR_SUBSTEP_USAGE_H

#include "procmgr/stepmgr/substep_connection.h"

struct substep_usage;

struct substep_usage *substep_usage_new(struct substep_engine *m);
void substep_usage_free(struct substep_usage *u); /* call when nobody asks any more */

/* Answer the request `usage` with this id: at once, or as soon as processes are measured and agents have answered. */
void substep_usage_ask(struct substep_engine *m, struct substep_connection *c, json_int_t id);
void substep_usage_forget(struct substep_engine *m, struct substep_connection *c); /* the connection ends */

/* Take the answer of a node's agent to a request for usage. */
void substep_usage_take(struct substep_engine *m, int node, const json_t *answer);

#endif
