/* schedule_placement.h - places the gang of one decision. */
#ifndef ROTA_SCHEDULE_PLACEMENT_H
#define ROTA_SCHEDULE_PLACEMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "jobmgr/schedule/schedule_fit.h"
#include "jobmgr/schedule/schedule_gang.h"

/* The nodes on which one step or one array element is placed, and for how long. */
struct schedule_placed {
	size_t member;
	int position;
	int64_t seconds;
	double until;
	struct schedule_reserved *reserved;
	bool predispatched;
	/* the step's entries in the list of struct schedule_taken; if `licensed`, one more entry is for its licences */
	size_t first, node_count;
	bool licensed;
};

/* Resources of a placed step on one node. */
struct schedule_taken {
	int node_index, tasks;
	int64_t *need; /* amounts that the step takes on the node */
	int64_t *draw; /* the part of `need` that comes from free resources; the rest was reserved for the step */
};

struct schedule_placement; /* working space of one run of the scheduler */

struct schedule_placement *schedule_placement_new(struct schedule_profile *profile, struct schedule_fit *fit);
void schedule_placement_free(struct schedule_placement *placement);

/* Place the gang at the view's moment. On success all its resources are taken from the view, until schedule_placement_undo().
 * On failure none are taken, and schedule_placement_stuck() returns the member that did not fit and whether only its licences
 * were short. */
bool schedule_placement_try(struct schedule_placement *placement, struct schedule_view *view, const struct schedule_gang *gang);
void schedule_placement_undo(struct schedule_placement *placement, struct schedule_view *view);
size_t schedule_placement_stuck(const struct schedule_placement *placement, bool *for_licenses);

/* Returns the placed steps and array elements of the last successful schedule_placement_try(), and their resources on each
 * node. */
const struct schedule_placed *schedule_placement_placed(const struct schedule_placement *placement, size_t *count);
const struct schedule_taken *schedule_placement_taken(const struct schedule_placement *placement,
						      const struct schedule_placed *placed);

/* Turn the last successful placement, made in a view of the future, into backfill reservations. */
void schedule_placement_reserve(struct schedule_placement *placement, struct schedule_view *view,
				const struct schedule_gang *gang);

#endif
