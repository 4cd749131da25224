/* schedule_earliest.h - the earliest moment at which a unit fits. */
#ifndef ROTA_SCHEDULE_EARLIEST_H
#define ROTA_SCHEDULE_EARLIEST_H

#include <stdbool.h>

#include "jobmgr/schedule/schedule_placement.h"

struct schedule_moment {
	double at;
	int source;		    /* what ends then, as in struct schedule_end */
	struct schedule_view *view; /* the cluster then, with the unit taken from it: to be held or undone */
};

struct schedule_earliest; /* working space of a pass */

struct schedule_earliest *schedule_earliest_new(struct schedule_profile *profile, struct schedule_placement *placement);

/* Find the earliest moment after now, against all that runs and all that is reserved. Up to then nothing more may be
 * tried; then either schedule_set_hold() or schedule_set_undo() has to follow. False: there is no such moment. */
bool schedule_earliest_find(struct schedule_earliest *earliest, const struct schedule_gang *gang, struct schedule_moment *moment);

#endif
