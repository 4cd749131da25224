/* schedule_placement.h - places the gang of one decision. */
#ifndef ROTA_SCHEDULE_PLACEMENT_H
#define ROTA_SCHEDULE_PLACEMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "jobmgr/schedule/schedule_fit.h"
#include "jobmgr/schedule/schedule_gang.h"

/* Where one step, or one array element, runs. */
struct schedule_placed {
	size_t member;
	int position;
	int64_t seconds;
	double until;
	struct schedule_reserved *reserved;
	bool predispatched;
	size_t first, node_count; /* entries of schedule_placement_taken(); one for the licences follows, if `licensed` */
	bool licensed;
};

/* Resources of a placed step on one node. */
struct schedule_taken {
	int node_index, tasks;
	int64_t *need; /* from reserved and free resources together */
	int64_t *draw; /* from free resources alone */
};

struct schedule_placement; /* working space of a run */

struct schedule_placement *schedule_placement_new(struct schedule_profile *profile, struct schedule_fit *fit);
void schedule_placement_free(struct schedule_placement *placement);

/* Place the gang at the view's moment. On success all of it is taken from the view, until schedule_placement_undo(). Otherwise
 * nothing is, and schedule_placement_stuck() tells the member that did not fit, and whether only its licences were short. */
bool schedule_placement_try(struct schedule_placement *placement, struct schedule_view *view, const struct schedule_gang *gang);
void schedule_placement_undo(struct schedule_placement *placement, struct schedule_view *view);
size_t schedule_placement_stuck(const struct schedule_placement *placement, bool *for_licenses);

/* What the last success placed. */
const struct schedule_placed *schedule_placement_placed(const struct schedule_placement *placement, size_t *count);
const struct schedule_taken *schedule_placement_taken(const struct schedule_placement *placement,
						      const struct schedule_placed *placed);

/* Turn the last success, in a view of the future, into backfill reservations. */
void schedule_placement_reserve(struct schedule_placement *placement, struct schedule_view *view,
				const struct schedule_gang *gang);

#endif
