/* agent_spool.h - lists attempts that have a keeper's folder on this node. */
#ifndef ROTA_PROCMGR_AGENT_SPOOL_H
#define ROTA_PROCMGR_AGENT_SPOOL_H

#include "procmgr/record/record.h"

/* Call `each` for every attempt in spool/. Logs an error and returns false if spool/ cannot be read. */
bool agent_spool_each(void (*each)(const struct record_key *key, void *arg), void *arg);

bool agent_spool_has(const struct record_key *key);

#endif
