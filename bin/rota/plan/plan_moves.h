/* plan_moves.h - `rota plan --moves`: moves of running steps that gain more than they cost. */
#ifndef ROTA_BIN_PLAN_MOVES_H
#define ROTA_BIN_PLAN_MOVES_H

#include <jansson.h>
#include <stdbool.h>

#include "bin/rota/plan/plan_snapshot.h"

/* Propose moves for a snapshot, and print them with their gains and costs. `answer`: answer of api.plan_snapshot, with the steps
 * that can be moved. Returns an exit status. */
int plan_moves_print(struct plan_snapshot *snapshot, const json_t *answer, const struct schedule_policy *policy, bool json);

#endif
