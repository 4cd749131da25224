/* lead_moves.h - proposes moves of running steps, so that waiting steps start or nodes become empty (schedule.moves). */
#ifndef ROTA_LEAD_MOVES_H
#define ROTA_LEAD_MOVES_H

#include <stdbool.h>

#include "jobmgr/lead/lead_load.h"
#include "jobmgr/schedule/schedule.h"

/* May a move help a step that waits in the result or, if no step waits, empty a node? False while there is a claim: moves are
 * made one after the other. */
bool lead_moves_are_wanted(const struct lead_rows *rows, const struct schedule_result *result);

/* Have the scheduler propose moves of running steps to other nodes. rows->movers has the steps that can be moved; `requests` has
 * the resource requests with which they start again. Returns the argument of api.schedule_move as JSON, to be freed, or NULL if no
 * move gains more than it costs. The leader does not renew its lease of `lease_s` seconds during the search, so the search takes
 * only a part of this time. */
char *lead_moves_json(const struct lead_rows *rows, const struct lead_rows *requests, const struct schedule_policy *policy,
		      const struct schedule_result *result, double lease_s);

#endif
