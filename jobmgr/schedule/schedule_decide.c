/* schedule_decide.c - may a unit start now, and if not, why?
 *
 * Called by schedule.c for each unit in turn. */
#include <math.h>
#include <string.h>

#include "jobmgr/schedule/schedule_explain.h"
#include "jobmgr/schedule/schedule_pass.h"

void schedule_pass_seconds(struct schedule_unit *unit, bool full)
{
	for (size_t i = 0; i < unit->count; i++)
		unit->member[i].seconds = full ? unit->member[i].request->full_s : unit->member[i].request->least_s;
}

static bool decide_closed(struct schedule_pass *pass, const struct schedule_unit *unit, size_t *stuck,
			  struct schedule_cause *cause)
{
	struct schedule_arena *arena = pass->cluster->arena;
	for (size_t i = 0; i < unit->count; i++) {
		const struct schedule_request *request = unit->member[i].request;
		for (size_t k = 0; k < request->license_count; k++) {
			size_t kind = request->licenses[k].kind;
			int64_t kept = schedule_kept_amount(request->kept, (int)pass->cluster->nodes, kind);
			if (!pass->closed[kind] || kept >= request->licenses[k].count)
				continue;
			const struct schedule_pending *first = &pass->snapshot->pending[pass->closed[kind] - 1];
			*stuck = i;
			*cause = (struct schedule_cause){.reason = SCHEDULE_LICENSE, .job = first->job, .step = first->step};
			cause->message =
				schedule_arena_print(arena, "license \"%s\" goes to %s first", pass->cluster->licenses.name[kind],
						     schedule_explain_pending(arena, first));
			return true;
		}
	}
	return false;
}

/* Without backfill nothing passes a step that waits. */
static bool decide_behind(struct schedule_pass *pass, const struct schedule_unit *unit, size_t *stuck,
			  struct schedule_cause *cause)
{
	for (size_t i = 0; i < unit->count && !pass->backfill; i++) {
		const struct schedule_lane *lane = schedule_pass_lane(pass, &unit->member[i]);
		if (!lane->blocked)
			continue;
		const struct schedule_pending *first = &pass->snapshot->pending[lane->first];
		struct schedule_arena *arena = pass->cluster->arena;
		*stuck = i;
		*cause = (struct schedule_cause){
			.reason = SCHEDULE_PRIORITY, .job = first->job, .step = first->step, .blocks = true};
		cause->message = schedule_arena_print(arena, "%s goes first", schedule_explain_pending(arena, first));
		return true;
	}
	return false;
}

/* The latest beginning of a reservation or an outage that was not looked at yet: `hold` and `barrier` count down. */
static double decide_before(const struct schedule_profile *profile, size_t *hold, size_t *barrier)
{
	double from = *hold ? profile->by_from[*hold - 1]->from : -INFINITY;
	if (*barrier && profile->barriers.barrier[*barrier - 1].from > from)
		return profile->barriers.barrier[--*barrier].from;
	--*hold;
	return from;
}

/* With the longest time limit that fits between now and a reservation or an outage, when time_min_s allows less than the full
 * one. */
static bool decide_shortened(struct schedule_pass *pass, struct schedule_unit *unit)
{
	struct schedule_profile *profile = pass->profile;
	struct schedule_member *member = &unit->member[0];
	schedule_pass_seconds(unit, false);
	size_t hold = profile->hold_count, barrier = profile->barriers.count;
	if ((!hold && !barrier) || !schedule_set_try(pass->set, &profile->live, unit))
		return false;
	if (unit->count > 1)
		return true;
	schedule_set_undo(pass->set, &profile->live);
	while (hold || barrier) {
		double from = decide_before(profile, &hold, &barrier), seconds = floor(from - profile->live.at);
		if (from >= SCHEDULE_FOREVER || (member->request->full_s && seconds >= (double)member->request->full_s))
			continue;
		if (seconds <= (double)member->request->least_s)
			break;
		member->seconds = (int64_t)seconds;
		if (schedule_set_try(pass->set, &profile->live, unit))
			return true;
	}
	schedule_pass_seconds(unit, false);
	return schedule_set_try(pass->set, &profile->live, unit);
}

/* What ends later is written down: a copy of what was taken. */
static void decide_end(struct schedule_pass *pass, const struct schedule_member *member, const struct schedule_placed *placed,
		       const struct schedule_taken *taken)
{
	for (size_t i = 0; i < placed->spots + placed->licensed; i++) {
		int64_t *amount = schedule_cluster_amounts(pass->cluster);
		memcpy(amount, taken[i].need, pass->cluster->kinds * sizeof *amount);
		schedule_profile_end(pass->profile, fmin(placed->until, SCHEDULE_FOREVER), taken[i].place, ~(int)member->pending,
				     amount);
	}
}

static void decide_commit(struct schedule_pass *pass, const struct schedule_unit *unit)
{
	size_t count;
	const struct schedule_placed *placed = schedule_set_placed(pass->set, &count);
	bool backfilled = false;
	for (size_t i = 0; i < unit->count; i++)
		backfilled |= schedule_pass_lane(pass, &unit->member[i])->blocked;
	for (size_t i = 0; i < count; i++) {
		const struct schedule_member *member = &unit->member[placed[i].member];
		const struct schedule_taken *taken = schedule_set_taken(pass->set, &placed[i]);
		schedule_record_start(pass->record, member, &placed[i], taken, backfilled);
		decide_end(pass, member, &placed[i], taken);
	}
	pass->fit->again = count == 1 && placed->spots == 1 ? unit->member[0].request : NULL;
	if (!pass->fit->again)
		return;
	pass->fit->again_place = schedule_set_taken(pass->set, placed)->place;
	pass->fit->again_until = placed->until;
}

static bool decide_start(struct schedule_pass *pass, struct schedule_unit *unit)
{
	bool flexible = false;
	for (size_t i = 0; i < unit->count; i++)
		flexible |= unit->member[i].request->least_s != unit->member[i].request->full_s;
	schedule_pass_seconds(unit, true);
	if (!schedule_set_try(pass->set, &pass->profile->live, unit) && !(flexible && decide_shortened(pass, unit)))
		return false;
	decide_commit(pass, unit);
	return true;
}

/* Does it fit in a view, wherever? Of a step alone the first answer will do. */
static bool decide_fits(struct schedule_pass *pass, struct schedule_view *view, const struct schedule_unit *unit)
{
	pass->fit->any = unit->count == 1;
	bool fits = schedule_set_try(pass->set, view, unit);
	pass->fit->any = false;
	if (fits)
		schedule_set_undo(pass->set, view);
	return fits;
}

/* Would it fit if nothing else ran? */
static bool decide_possible(struct schedule_pass *pass, struct schedule_unit *unit)
{
	struct schedule_request *request = unit->count == 1 ? unit->member[0].request : NULL;
	if (request && request->possible)
		return true;
	bool possible = decide_fits(pass, &pass->empty, unit);
	if (request)
		request->possible = possible;
	return possible;
}

/* Why a unit that was just tried in vain does not start: what lacks, or a reservation or an outage in its way. */
static struct schedule_cause decide_diagnose(struct schedule_pass *pass, struct schedule_unit *unit, size_t *stuck)
{
	struct schedule_arena *arena = pass->cluster->arena;
	struct schedule_view blind = pass->profile->live;
	bool for_licenses;
	*stuck = schedule_set_stuck(pass->set, &for_licenses);
	blind.blind = true;
	schedule_pass_seconds(unit, false);
	if (pass->profile->hold_count && decide_fits(pass, &blind, unit))
		return schedule_explain_priority(arena, pass->profile, unit->member[*stuck].request);
	size_t nodes_free = pass->fit->candidates;
	*stuck = schedule_set_stuck(pass->set, &for_licenses);
	blind.calm = true;
	if (pass->profile->barriers.count && decide_fits(pass, &blind, unit))
		return schedule_explain_maintenance(arena, pass->profile, unit->member[*stuck].request);
	if (!decide_possible(pass, unit)) {
		*stuck = schedule_set_stuck(pass->set, &for_licenses);
		if (for_licenses)
			return (struct schedule_cause){.reason = SCHEDULE_LICENSE,
						       .step = -1,
						       .message = "it and its peers ask for more licenses than there are"};
		return schedule_explain_node(arena, unit->member[*stuck].request);
	}
	if (for_licenses)
		return schedule_explain_license(arena, pass->profile, unit->member[*stuck].request);
	return schedule_explain_resources(arena, pass->profile, unit->member[*stuck].request, nodes_free);
}

bool schedule_decide(struct schedule_pass *pass, struct schedule_unit *unit, size_t *stuck, struct schedule_cause *cause)
{
	struct schedule_request *request = unit->member[0].request;
	*stuck = 0;
	if (decide_closed(pass, unit, stuck, cause) || decide_behind(pass, unit, stuck, cause))
		return false;
	if (unit->count == 1 && request->failed) {
		*cause = request->cause;
		return false;
	}
	if (decide_start(pass, unit))
		return true;
	*cause = decide_diagnose(pass, unit, stuck);
	if (unit->count > 1)
		return false;
	request->failed = true;
	request->cause = *cause;
	request->refused = cause->reason == SCHEDULE_NODE;
	return false;
}
