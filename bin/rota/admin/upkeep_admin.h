/* upkeep_admin.h - `rota admin node change-all` and `node health`: changes of many nodes, and checks of nodes. */
#ifndef ROTA_ADMIN_UPKEEP_ADMIN_H
#define ROTA_ADMIN_UPKEEP_ADMIN_H

#include <jansson.h>
#include <stdbool.h>

#include "bin/rota/line/verb.h"

/* Returns true if the action is change-all, changes, cancel-change or health, which upkeep_admin_run() carries out. */
bool upkeep_admin_has(const char *action);

/* Carry out an action that upkeep_admin_has() names; `operand`: the number of a change, or nodes; may be NULL. `values`: the
 * options. Returns the exit code. */
int upkeep_admin_run(const struct verb *verb, const char *action, const char *operand, json_t *values, bool json);

#endif
