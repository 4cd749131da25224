/* schedule_wait.c - lets a unit wait: what the plan says of it, and what it means for those behind.
 *
 * Called by schedule.c for each unit that does not start. */
#include "jobmgr/schedule/schedule_explain.h"
#include "jobmgr/schedule/schedule_pass.h"

/* The others of a set wait for the one whose cause it is. */
static void wait_peers(struct schedule_pass *pass, const struct schedule_unit *unit, size_t stuck,
		       const struct schedule_cause *cause)
{
	struct schedule_arena *arena = pass->cluster->arena;
	const struct schedule_pending *step = unit->member[stuck].step;
	struct schedule_cause peer = {.reason = SCHEDULE_PEER, .job = step->job, .step = step->step};
	schedule_record_wait(pass->record, unit->member[stuck].pending, cause);
	if (unit->count > 1)
		peer.message = schedule_arena_print(arena, "starts together with %s: %s", schedule_explain_pending(arena, step),
						    cause->message);
	for (size_t i = 0; i < unit->count; i++)
		if (i != stuck)
			schedule_record_wait(pass->record, unit->member[i].pending, &peer);
}

/* May the start of this unit be worked out, for the sake of the partitions of its members? Counts it in them. */
static bool wait_counts(struct schedule_pass *pass, const struct schedule_unit *unit, bool holds)
{
	bool counts = false;
	for (size_t i = 0; i < unit->count; i++)
		counts |= schedule_pass_lane(pass, &unit->member[i])->foreseen[holds] < pass->reservations;
	for (size_t i = 0; counts && i < unit->count; i++) {
		struct schedule_lane *lane = schedule_pass_lane(pass, &unit->member[i]);
		lane->foreseen[holds] += lane->unit != pass->units;
		lane->unit = pass->units;
	}
	return counts;
}

/* A start so late protects nothing when a member would miss its deadline. */
static bool wait_late(const struct schedule_unit *unit, double at)
{
	for (size_t i = 0; i < unit->count; i++)
		if (unit->member[i].step->deadline_at > 0 &&
		    at + (double)unit->member[i].request->least_s > unit->member[i].step->deadline_at)
			return true;
	return false;
}

/* Work out when and where a waiting unit starts; reserve that when it holds. */
static void wait_foresee(struct schedule_pass *pass, struct schedule_unit *unit, bool holds)
{
	struct schedule_moment moment;
	size_t count;
	struct schedule_request *request = unit->member[0].request;
	if (unit->count == 1 && request->unforeseen)
		return;
	schedule_pass_seconds(unit, true);
	if (!schedule_reserve_find(pass->reserve, unit, &moment)) {
		request->unforeseen = unit->count == 1;
		return;
	}
	const struct schedule_placed *placed = schedule_set_placed(pass->set, &count);
	bool late = wait_late(unit, moment.at);
	struct schedule_cause after;
	after.message = schedule_explain_source(pass->profile, moment.source, &after);
	for (size_t i = 0; i < count && moment.at < SCHEDULE_FOREVER && !late; i++)
		schedule_record_expect(pass->record, unit->member[placed[i].member].pending, moment.at, &after, &placed[i],
				       schedule_set_taken(pass->set, &placed[i]));
	if (holds && !late)
		schedule_set_hold(pass->set, moment.view, unit);
	else
		schedule_set_undo(pass->set, moment.view);
}

/* The licences that a step lacks go to it before others get any. */
static void wait_close(struct schedule_pass *pass, const struct schedule_member *member)
{
	const struct schedule_cluster *c = pass->cluster;
	const int64_t *free = schedule_cluster_at(c, pass->profile->live.free, c->nodes);
	bool any = false;
	for (int all = 0; all < 2 && !any; all++) {
		for (size_t i = 0; i < member->request->license_count; i++) {
			const struct schedule_need *need = &member->request->licenses[i];
			if (pass->closed[need->kind] || (!all && free[need->kind] >= need->count))
				continue;
			pass->closed[need->kind] = member->pending + 1;
			any = true;
		}
	}
}

void schedule_wait(struct schedule_pass *pass, struct schedule_unit *unit, size_t stuck, const struct schedule_cause *cause)
{
	wait_peers(pass, unit, stuck, cause);
	if (cause->closes)
		wait_close(pass, &unit->member[stuck]);
	for (size_t i = 0; cause->blocks && cause->reason != SCHEDULE_MAINTENANCE && i < unit->count; i++) {
		struct schedule_lane *lane = schedule_pass_lane(pass, &unit->member[i]);
		if (!lane->blocked)
			lane->first = unit->member[i].pending;
		lane->blocked = true;
	}
	if ((cause->blocks || cause->closes) && wait_counts(pass, unit, cause->blocks))
		wait_foresee(pass, unit, cause->blocks);
}
