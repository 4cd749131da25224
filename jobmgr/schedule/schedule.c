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

#include <string.h>

#include "jobmgr/schedule/schedule_explain.h"
#include "jobmgr/schedule/schedule_pass.h"

const struct schedule_policy schedule_policy_default = {.backfill = true, .reservations = 8};

/* Is there a reason that no free resource would cure? */
static bool pass_refused(struct schedule_pass *pass, struct schedule_unit *unit)
{
	struct schedule_cause cause = {.reason = SCHEDULE_PEER, .step = -1};
	int lacks = schedule_unit_lacks(unit);
	for (size_t i = 0; i < unit->count; i++) {
		const struct schedule_member *member = &unit->member[i];
		int room = member->step->array_size > 0 ? member->step->array_room : -1;
		if (member->request->refused) {
			schedule_wait(pass, unit, i, &member->request->cause);
			return true;
		}
		if (room < 0 || room >= member->elements)
			continue;
		cause.reason = SCHEDULE_ARRAY_LIMIT;
		cause.message = room ? "its elements start together, and its %limit does not let them"
				     : "as many of its elements run as its %limit allows";
		schedule_wait(pass, unit, i, &cause);
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
	while (schedule_set_position(member) && starts && (room < 0 || started < room)) {
		starts = schedule_decide(pass, unit, &stuck, &cause);
		started += starts;
		member->position += starts;
	}
	if (started)
		pass_release(pass, member);
	if (!starts)
		schedule_ahead(pass, member, &cause, room < 0 ? room : room - started);
	if (schedule_set_position(member))
		schedule_wait(pass, unit, stuck, &cause);
}

static void pass_unit(struct schedule_pass *pass, struct schedule_unit *unit)
{
	struct schedule_cause cause;
	size_t stuck;
	bool array = unit->count == 1 && unit->member[0].step->array_size > 0;
	pass->units++;
	if ((array && !schedule_set_position(&unit->member[0])) || pass_refused(pass, unit))
		return;
	if (array) {
		pass_array(pass, unit);
	} else if (schedule_decide(pass, unit, &stuck, &cause)) {
		for (size_t i = 0; i < unit->count; i++)
			pass_release(pass, &unit->member[i]);
	} else {
		schedule_wait(pass, unit, stuck, &cause);
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
