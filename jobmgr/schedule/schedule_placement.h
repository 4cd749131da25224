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
	struct schedule_kept *kept;
	bool ahead;
	size_t first, spots; /* of what is taken; its licences, if any, follow as one more */
	bool licensed;
};

/* What a placed step takes on a place. */
struct schedule_taken {
	int place, tasks;
	int64_t *need; /* of what is kept for it and what is free */
	int64_t *draw; /* of what is free alone */
};

struct schedule_set; /* working space of a pass */

struct schedule_set *schedule_set_new(struct schedule_profile *profile, struct schedule_fit *fit);
void schedule_set_free(struct schedule_set *set);

/* Place all of a unit at the view's moment. When that succeeds all of it is taken from the view, until
 * schedule_set_undo(); when not, nothing is, and schedule_set_stuck() tells the member that did not fit, and whether it
 * was for its licences only. */
bool schedule_set_try(struct schedule_set *set, struct schedule_view *view, const struct schedule_unit *unit);
void schedule_set_undo(struct schedule_set *set, struct schedule_view *view);
size_t schedule_set_stuck(const struct schedule_set *set, bool *for_licenses);

/* What the last success placed. */
const struct schedule_placed *schedule_set_placed(const struct schedule_set *set, size_t *count);
const struct schedule_taken *schedule_set_taken(const struct schedule_set *set, const struct schedule_placed *placed);

/* Turn the last success, in a view of the future, into reservations. */
void schedule_set_hold(struct schedule_set *set, struct schedule_view *view, const struct schedule_unit *unit);

#endif
