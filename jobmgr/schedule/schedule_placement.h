/* schedule_placement.h - places the steps that start in one decision: one step, or all members of a `with` set. */
#ifndef ROTA_SCHEDULE_PLACEMENT_H
#define ROTA_SCHEDULE_PLACEMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "jobmgr/schedule/schedule_fit.h"
#include "jobmgr/schedule/schedule_gang.h"

/* Where one step, or one element of an array, is to run. */
struct schedule_placed {
	size_t member;
	int position;
	int64_t seconds;
	double until;
	struct schedule_reserved *reserved;
	bool predispatched;
	size_t first, node_count; /* of what is taken; its licences, if any, follow as one more */
	bool licensed;
};

/* What a placed step takes on a place. */
struct schedule_taken {
	int node_index, tasks;
	int64_t *need; /* of what is kept for it and what is free */
	int64_t *draw; /* of what is free alone */
};

struct schedule_placement; /* working space of a pass */

struct schedule_placement *schedule_placement_new(struct schedule_profile *profile, struct schedule_fit *fit);
void schedule_placement_free(struct schedule_placement *placement);

/* Place all of a unit at the view's moment. When that succeeds all of it is taken from the view, until
 * schedule_set_undo(); when not, nothing is, and schedule_set_stuck() tells the member that did not fit, and whether it
 * was for its licences only. */
bool schedule_placement_try(struct schedule_placement *placement, struct schedule_view *view, const struct schedule_gang *gang);
void schedule_placement_undo(struct schedule_placement *placement, struct schedule_view *view);
size_t schedule_placement_stuck(const struct schedule_placement *placement, bool *for_licenses);

/* What the last success placed. */
const struct schedule_placed *schedule_placement_placed(const struct schedule_placement *placement, size_t *count);
const struct schedule_taken *schedule_placement_taken(const struct schedule_placement *placement,
						      const struct schedule_placed *placed);

/* Turn the last success, in a view of the future, into reservations. */
void schedule_placement_reserve(struct schedule_placement *placement, struct schedule_view *view,
				const struct schedule_gang *gang);

#endif
