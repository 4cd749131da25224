/* schedule.c - one pass over the queue: who starts, who waits, who holds a reservation.
 *
 * Called by lead.c, the what-if command and the tests, through schedule_run(). The rules:
 *  - What could not start whatever is free (its partition, a limit, its deadline, no node that matches, peers that are not
 *    there) waits without blocking anybody.
 *  - The first step of a partition that does not fit blocks it. The first `reservations` such steps hold a reservation,
 *    which binds every partition; behind them a step starts only where it delays none (without backfill: not at all).
 *  - A step that only an outage keeps waiting holds a reservation for the time behind it, and blocks nobody: what ends before
 *    the outage may start, also where there is no backfill.
 *  - A step that lacks nothing but a licence holds no nodes and blocks nobody; it closes that licence to all behind it, so
 *    that small users of it do not starve a large one. */
#include "jobmgr/schedule/schedule.h"

#include <math.h>
#include <string.h>

#include "jobmgr/schedule/schedule_cycle.h"
#include "jobmgr/schedule/schedule_explain.h"

const struct schedule_policy schedule_policy_default = {.backfill = true, .reservations = 8};

/* does a unit start now, and if not, why */

/* All members are tried with their full time limits, or with the least they allow. */
static void pass_seconds(struct schedule_unit *unit, bool full)
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
	pass_seconds(unit, false);
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
	pass_seconds(unit, false);
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
	pass_seconds(unit, true);
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
	pass_seconds(unit, false);
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

/* Start a unit, or tell why not, and which member it is stuck at. */
static bool decide_unit(struct schedule_pass *pass, struct schedule_unit *unit, size_t *stuck, struct schedule_cause *cause)
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

/* a unit waits */

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
	pass_seconds(unit, true);
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

/* Write down that a unit waits for the sake of one member, and what that means for those behind it. */
static void wait_unit(struct schedule_pass *pass, struct schedule_unit *unit, size_t stuck, const struct schedule_cause *cause)
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

/* the queue */

/* Is there a reason that no free resource would cure? */
static bool pass_refused(struct schedule_pass *pass, struct schedule_unit *unit)
{
	struct schedule_cause cause = {.reason = SCHEDULE_PEER, .step = -1};
	int lacks = schedule_unit_lacks(unit);
	for (size_t i = 0; i < unit->count; i++) {
		const struct schedule_member *member = &unit->member[i];
		int room = member->step->array_size > 0 ? member->step->array_room : -1;
		if (member->request->refused) {
			wait_unit(pass, unit, i, &member->request->cause);
			return true;
		}
		if (room < 0 || room >= member->elements)
			continue;
		cause.reason = SCHEDULE_ARRAY_LIMIT;
		cause.message = room ? "its elements start together, and its %limit does not let them"
				     : "as many of its elements run as its %limit allows";
		wait_unit(pass, unit, i, &cause);
		return true;
	}
	if (!lacks)
		return false;
	cause.message = schedule_arena_print(pass->cluster->arena, "starts together with %d step%s that cannot start yet", lacks,
					     lacks == 1 ? "" : "s");
	for (size_t i = 0; i < unit->count; i++)
		schedule_record_wait(pass->record, unit->member[i].pending, &cause);
	return true;
}

/* What was kept for a step that has started, and it did not take, is free for others soon: when its start is committed. */
static void pass_release(struct schedule_pass *pass, const struct schedule_member *member)
{
	for (struct schedule_kept *kept = member->request->kept; kept; kept = kept->next) {
		int64_t *rest = kept->amount;
		kept->amount = schedule_cluster_amounts(pass->cluster);
		schedule_profile_release(pass->profile, pass->profile->live.at + 1, kept->place, ~(int)member->pending, rest);
	}
}

/* An array starts element by element until one does not fit; the rest waits as that one does. */
static void pass_array(struct schedule_pass *pass, struct schedule_unit *unit)
{
	struct schedule_member *member = &unit->member[0];
	struct schedule_cause cause = {.reason = SCHEDULE_ARRAY_LIMIT, .step = -1};
	int room = member->step->array_room, started = 0;
	size_t stuck = 0;
	bool starts = true;
	cause.message = "as many of its elements run as its %limit allows";
	while (schedule_gang_position(member) && starts && (room < 0 || started < room)) {
		starts = decide_unit(pass, unit, &stuck, &cause);
		started += starts;
		member->position += starts;
	}
	if (started)
		pass_release(pass, member);
	if (!starts)
		schedule_ahead(pass, member, &cause, room < 0 ? room : room - started);
	if (schedule_gang_position(member))
		wait_unit(pass, unit, stuck, &cause);
}

static void pass_unit(struct schedule_pass *pass, struct schedule_unit *unit)
{
	struct schedule_cause cause;
	size_t stuck;
	bool array = unit->count == 1 && unit->member[0].step->array_size > 0;
	pass->units++;
	if ((array && !schedule_gang_position(&unit->member[0])) || pass_refused(pass, unit))
		return;
	if (array) {
		pass_array(pass, unit);
	} else if (decide_unit(pass, unit, &stuck, &cause)) {
		for (size_t i = 0; i < unit->count; i++)
			pass_release(pass, &unit->member[i]);
	} else {
		wait_unit(pass, unit, stuck, &cause);
	}
}

struct schedule_result *schedule_run(const struct schedule_snapshot *snapshot, const struct schedule_policy *policy)
{
	struct schedule_arena *arena = schedule_arena_new();
	struct schedule_cluster *cluster = schedule_cluster_new(arena, snapshot);
	struct schedule_keeping *keeping = schedule_keeping_new(cluster);
	struct schedule_requests *requests = schedule_requests_new(cluster, keeping);
	struct schedule_pass pass = {.snapshot = snapshot, .backfill = policy->backfill, .cluster = cluster};
	pass.reservations = policy->backfill && policy->reservations > 1 ? policy->reservations : 1;
	pass.profile = schedule_profile_new(cluster, keeping);
	pass.empty = schedule_profile_empty(pass.profile);
	pass.fit = schedule_fit_new(pass.profile);
	pass.set = schedule_set_new(pass.profile, pass.fit);
	pass.reserve = schedule_reserve_new(pass.profile, pass.set);
	pass.record = schedule_record_new(cluster);
	pass.lane = schedule_arena_take(arena, snapshot->partition_count, sizeof *pass.lane);
	pass.closed = schedule_arena_take(arena, cluster->licenses.count, sizeof *pass.closed);
	struct schedule_units_in_turn *units = schedule_units_new(cluster, requests);
	for (struct schedule_unit *unit; (unit = schedule_units_next(units));)
		pass_unit(&pass, unit);
	schedule_set_free(pass.set);
	schedule_requests_free(requests);
	return schedule_record_finish(pass.record, pass.fit->evaluations);
}

const char *schedule_reason_name(enum schedule_reason reason)
{
	static const char *const name[] = {
		[SCHEDULE_RESOURCES] = "resources",
		[SCHEDULE_PRIORITY] = "priority",
		[SCHEDULE_PARTITION] = "partition",
		[SCHEDULE_LICENSE] = "license",
		[SCHEDULE_NODE] = "node",
		[SCHEDULE_PEER] = "peer",
		[SCHEDULE_DEADLINE] = "deadline",
		[SCHEDULE_LIMIT] = "limit",
		[SCHEDULE_ARRAY_LIMIT] = "array_limit",
		[SCHEDULE_MAINTENANCE] = "maintenance",
		[SCHEDULE_RESERVATION] = "reservation",
	};
	return name[reason];
}

enum schedule_state schedule_state_of(const char *word)
{
	static const char *const name[] = {[SCHEDULE_UP] = "up", [SCHEDULE_DOWN] = "down", [SCHEDULE_DRAIN] = "drain"};
	for (size_t i = 0; i < sizeof name / sizeof *name; i++)
		if (word && !strcmp(word, name[i]))
			return (enum schedule_state)i;
	return SCHEDULE_INACTIVE;
}
