/* schedule_unit.h - the queue of a pass as units, in the order in which they are decided. */
#ifndef ROTA_SCHEDULE_UNIT_H
#define ROTA_SCHEDULE_UNIT_H

#include "jobmgr/schedule/schedule_set.h"

struct schedule_units_in_turn;

struct schedule_units_in_turn *schedule_units_new(const struct schedule_cluster *cluster, struct schedule_requests *requests);

/* The next unit, NULL behind the last. A `with` set comes when the last of its members that is there would. It is valid
 * until the next call. */
struct schedule_unit *schedule_units_next(struct schedule_units_in_turn *units);

/* How many members a unit lacks. */
int schedule_unit_lacks(const struct schedule_unit *unit);

/* How many elements of an array wait to be started, from member->position on. */
int schedule_unit_elements(const struct schedule_member *member);

#endif
