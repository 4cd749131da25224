/* schedule_earliest.h - the earliest start of a gang. */
#ifndef ROTA_SCHEDULE_EARLIEST_H
#define ROTA_SCHEDULE_EARLIEST_H

#include <stdbool.h>

#include "jobmgr/schedule/schedule_placement.h"

struct schedule_moment {
	double at;
	int source;		    /* the step or outage that ends at `at`, as in struct schedule_end */
	struct schedule_view *view; /* the cluster at `at`, after the resources of the gang were taken */
};

struct schedule_earliest; /* working space of one run of the scheduler */

struct schedule_earliest *schedule_earliest_new(struct schedule_profile *profile, struct schedule_placement *placement);

/* Find the earliest moment after now at which the gang fits, with all running steps and backfill reservations. The caller then
 * calls schedule_placement_reserve() or schedule_placement_undo() before anything else is tried. Returns false if there is no
 * such moment. */
bool schedule_earliest_find(struct schedule_earliest *earliest, const struct schedule_gang *gang, struct schedule_moment *moment);

#endif
