/* schedule_wait.c - a gang waits: records why, works out its expected start, and keeps resources for it.
 *
 * Called by: schedule.c, for each gang and array that does not start as a whole.
 * Invariants:
 *  - The first step of a partition that does not fit blocks the partition. The first `reservations` waiting steps get backfill
 *    reservations, which bind all partitions.
 *  - A step that only an outage delays gets a reservation after the outage and blocks nothing: steps that end before it may
 *    start.
 *  - A step that lacks only a licence blocks no nodes. It closes the licence to later steps, so small users do not starve large
 *    ones. */
#include "jobmgr/schedule/schedule_cycle.h"
#include "jobmgr/schedule/schedule_explain.h"

/* Record why the members of a gang wait: the member that is stuck for `cause`, the others for that member. */
static void wait_record_gang(struct schedule_cycle *cycle, const struct schedule_gang *gang, size_t stuck,
			     const struct schedule_cause *cause)
{
	struct schedule_arena *arena = cycle->cluster->arena;
	const struct schedule_pending *step = gang->member[stuck].step;
	struct schedule_cause peer = {.reason = SCHEDULE_PEER, .job = step->job, .step = step->step};
	schedule_record_wait(cycle->record, gang->member[stuck].pending, cause);
	if (gang->count > 1)
		peer.message = schedule_arena_print(arena, "starts together with %s: %s", schedule_explain_pending(arena, step),
						    cause->message);
	for (size_t i = 0; i < gang->count; i++)
		if (i != stuck)
			schedule_record_wait(cycle->record, gang->member[i].pending, &peer);
}

/* May the expected start of this gang be worked out? Each partition has a limit of such gangs, and one of the gang's partitions
 * must not have reached it. Counts the gang. */
static bool wait_count_gang(struct schedule_cycle *cycle, const struct schedule_gang *gang, bool reserves)
{
	bool counts = false;
	for (size_t i = 0; i < gang->count; i++)
		counts |= schedule_cycle_partition(cycle, &gang->member[i])->expected_count[reserves] < cycle->reservations;
	for (size_t i = 0; counts && i < gang->count; i++) {
		struct schedule_partition_state *state = schedule_cycle_partition(cycle, &gang->member[i]);
		state->expected_count[reserves] += state->last_gang != cycle->gang_count;
		state->last_gang = cycle->gang_count;
	}
	return counts;
}

/* Would a step of the gang end after its deadline if the gang started at `at`? Then a backfill reservation for the gang is
 * useless. */
static bool wait_misses_deadline(const struct schedule_gang *gang, double at)
{
	for (size_t i = 0; i < gang->count; i++)
		if (gang->member[i].step->deadline_at > 0 &&
		    at + (double)gang->member[i].request->least_s > gang->member[i].step->deadline_at)
			return true;
	return false;
}

/* Work out the earliest start of a waiting gang. With `reserves`, also make a backfill reservation for the gang. */
static void wait_find_start(struct schedule_cycle *cycle, struct schedule_gang *gang, bool reserves)
{
	struct schedule_moment moment;
	size_t count;
	struct schedule_request *request = gang->member[0].request;
	if (gang->count == 1 && request->no_later_start)
		return;
	schedule_gang_set_time_limits(gang, true);
	if (!schedule_earliest_find(cycle->earliest, gang, &moment)) {
		request->no_later_start = gang->count == 1;
		return;
	}
	const struct schedule_placed *placed = schedule_placement_placed(cycle->placement, &count);
	bool late = wait_misses_deadline(gang, moment.at);
	struct schedule_cause after;
	after.message = schedule_explain_source(cycle->profile, moment.source, &after);
	for (size_t i = 0; i < count && moment.at < SCHEDULE_FOREVER && !late; i++)
		schedule_record_expected_start(cycle->record, gang->member[placed[i].member].pending, moment.at, &after,
					       &placed[i], schedule_placement_taken(cycle->placement, &placed[i]));
	if (reserves && !late)
		schedule_placement_reserve(cycle->placement, moment.view, gang);
	else
		schedule_placement_undo(cycle->placement, moment.view);
}

/* Close to later steps the licences of which too few are free for the step. If there are enough for the step alone, close all
 * licences that it asks for. */
static void wait_close_licenses(struct schedule_cycle *cycle, const struct schedule_member *member)
{
	const struct schedule_cluster *c = cycle->cluster;
	const int64_t *free = schedule_cluster_at(c, cycle->profile->live.free, c->nodes);
	bool any = false;
	for (int all = 0; all < 2 && !any; all++) {
		for (size_t i = 0; i < member->request->license_count; i++) {
			const struct schedule_need *need = &member->request->licenses[i];
			if (cycle->closed_by[need->kind] || (!all && free[need->kind] >= need->count))
				continue;
			cycle->closed_by[need->kind] = member->pending + 1;
			any = true;
		}
	}
}

void schedule_wait_gang(struct schedule_cycle *cycle, struct schedule_gang *gang, size_t stuck,
			const struct schedule_cause *cause)
{
	wait_record_gang(cycle, gang, stuck, cause);
	if (cause->closes)
		wait_close_licenses(cycle, &gang->member[stuck]);
	for (size_t i = 0; cause->blocks && cause->reason != SCHEDULE_MAINTENANCE && i < gang->count; i++) {
		struct schedule_partition_state *state = schedule_cycle_partition(cycle, &gang->member[i]);
		if (!state->blocked)
			state->first_blocked = gang->member[i].pending;
		state->blocked = true;
	}
	if ((cause->blocks || cause->closes) && wait_count_gang(cycle, gang, cause->blocks))
		wait_find_start(cycle, gang, cause->blocks);
}
