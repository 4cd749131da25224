/* gate_lane.h - the gate's connections to the database, several, so that one slow call does not hold up all others. For the files
 * of the gate only. */
#ifndef ROTA_GATE_LANE_H
#define ROTA_GATE_LANE_H

#include <event2/event.h>
#include <stdbool.h>

#include "lib/conf.h"
#include "lib/db.h"

struct gate_lanes;
struct gate_ask; /* a call, until its answer comes */

/* Connect; `bell` is called when something happened in the database, or may have: after the connection was lost and found. */
struct gate_lanes *gate_lanes_open(struct event_base *base, const struct conf *conf, void (*bell)(void *arg), void *arg);

/* Calls under way fail first, as in db_close; those that wait are forgotten. */
void gate_lanes_close(struct gate_lanes *lanes);

/* Whether any of them is connected. */
bool gate_lanes_up(const struct gate_lanes *lanes);

/* Call an api function as db_call does, on a connection that is free, or when one is. `held` counts how many of a holder's calls are
 * under way, which are never as many as there are connections; NULL: nobody's. */
struct gate_ask *gate_lane_call(struct gate_lanes *lanes, unsigned *held, enum api_function function,
				const struct db_param *params, int count, db_answer *answer, void *arg);

/* Take back a call that still waits for a connection, which is then not answered; false: it is under way. */
bool gate_lane_withdraw(struct gate_ask *ask);

#endif
