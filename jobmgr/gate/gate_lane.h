/* gate_lane.h - the gate's connections to the database, several, so that one slow call does not hold up all others. For the files
 * of the gate only. */
#ifndef ROTA_GATE_LANE_H
#define ROTA_GATE_LANE_H

#include <event2/event.h>
#include <stdbool.h>

#include "lib/conf.h"
#include "lib/db.h"

struct gate_lane;
struct gate_lanes;

/* Connect; `bell` is called when something happened in the database, or may have: after the connection was lost and found. */
struct gate_lanes *gate_lanes_open(struct event_base *base, const struct conf *conf, void (*bell)(void *arg), void *arg);

/* Calls under way fail first, as in db_close. */
void gate_lanes_close(struct gate_lanes *lanes);

/* Whether any of them is connected. */
bool gate_lanes_up(const struct gate_lanes *lanes);

/* Call an api function as db_call does, on the connection with the least to do. When its answer comes, the lane that this one
 * answers is to be given to gate_lane_done. */
struct gate_lane *gate_lane_call(struct gate_lanes *lanes, enum api_function function, const struct db_param *params, int count,
				 db_answer *answer, void *arg);
void gate_lane_done(struct gate_lane *lane);

#endif
