/* schedule.c - goes through the queue: each gang starts (schedule_decide.c), or waits (schedule_wait.c).
 *
 * Called by: lead_cycle.c through schedule_run().
 * Invariants:
 *  - A step that no free resource could start (partition, limit, deadline, nodes, missing peers) waits and blocks no other step.
 *  - Elements of an array start one by one, until one does not fit. */
#include "jobmgr/schedule/schedule.h"

#include <string.h>

#include "jobmgr/schedule/schedule_cycle.h"
#include "lib/text.h"

const struct schedule_policy schedule_policy_default = {.backfill = true, .reservations = 8};

/* Does the gang wait for a reason that free resources cannot remove? If so, the reason is recorded. */
static bool cycle_refuse_gang(struct schedule_cycle *cycle, struct schedule_gang *gang)
{
	struct schedule_cause cause = {.reason = SCHEDULE_PEER, .step = -1};
	int missing = schedule_gang_count_missing(gang);
	for (size_t i = 0; i < gang->count; i++) {
		const struct schedule_member *member = &gang->member[i];
		int free_slots = member->step->array_size > 0 ? member->step->array_free_slots : -1;
		if (member->request->refused) {
			schedule_wait_gang(cycle, gang, i, &member->request->cause);
			return true;
		}
		if (free_slots < 0 || free_slots >= member->elements)
			continue;
		cause.reason = SCHEDULE_ARRAY_LIMIT;
		cause.message = free_slots ? "the elements of the array start together, and its %limit allows fewer"
					   : "as many elements of the array run as its %limit allows";
		schedule_wait_gang(cycle, gang, i, &cause);
		return true;
	}
	if (!missing)
		return false;
	cause.message = schedule_arena_print(cycle->cluster->arena, "starts together with %d step%s that cannot start yet",
					     missing, text_plural(missing));
	for (size_t i = 0; i < gang->count; i++)
		schedule_record_wait(cycle->record, gang->member[i].pending, &cause);
	return true;
}

/* A started step may leave a part of the resources that were reserved for it. The commit of its start frees that part, so the
 * profile counts it as free from one second after the start. */
static void cycle_release_reserved(struct schedule_cycle *cycle, const struct schedule_member *member)
{
	for (struct schedule_reserved *reserved = member->request->reserved; reserved; reserved = reserved->next) {
		int64_t *rest = reserved->amount;
		reserved->amount = schedule_cluster_amounts(cycle->cluster);
		schedule_profile_add_release(cycle->profile, cycle->profile->live.at + 1, reserved->node_index,
					     ~(int)member->pending, rest);
	}
}

/* Start elements of an array until one does not fit. The other elements wait for the same cause. */
static void cycle_run_array(struct schedule_cycle *cycle, struct schedule_gang *gang)
{
	struct schedule_member *member = &gang->member[0];
	struct schedule_cause cause = {.reason = SCHEDULE_ARRAY_LIMIT, .step = -1};
	int free_slots = member->step->array_free_slots, started = 0;
	size_t stuck = 0;
	bool starts = true, any_started = false;
	cause.message = "as many elements of the array run as its %limit allows";
	while (schedule_gang_next_position(member) && starts && (free_slots < 0 || started < free_slots)) {
		starts = schedule_decide_gang(cycle, gang, &stuck, &cause);
		started += starts;
		any_started |= starts && !cycle->waits_for_nodes;
		member->position += starts;
	}
	if (any_started)
		cycle_release_reserved(cycle, member);
	if (!starts)
		schedule_predispatch(cycle, member, &cause, free_slots < 0 ? free_slots : free_slots - started);
	if (schedule_gang_next_position(member))
		schedule_wait_gang(cycle, gang, stuck, &cause);
}

static void cycle_run_gang(struct schedule_cycle *cycle, struct schedule_gang *gang)
{
	struct schedule_cause cause;
	size_t stuck;
	bool array = gang->count == 1 && gang->member[0].step->array_size > 0;
	cycle->gang_count++;
	if ((array && !schedule_gang_next_position(&gang->member[0])) || cycle_refuse_gang(cycle, gang))
		return;
	if (array) {
		cycle_run_array(cycle, gang);
	} else if (schedule_decide_gang(cycle, gang, &stuck, &cause)) {
		for (size_t i = 0; i < gang->count && !cycle->waits_for_nodes; i++)
			cycle_release_reserved(cycle, &gang->member[i]);
	} else {
		schedule_wait_gang(cycle, gang, stuck, &cause);
	}
}

struct schedule_result *schedule_run(const struct schedule_snapshot *snapshot, const struct schedule_policy *policy)
{
	struct schedule_arena *arena = schedule_arena_new();
	struct schedule_cluster *cluster = schedule_cluster_new(arena, snapshot);
	struct schedule_reserved_index *reserved_index = schedule_reserved_index_new(cluster);
	struct schedule_requests *requests = schedule_requests_new(cluster, reserved_index);
	struct schedule_cycle cycle = {.snapshot = snapshot, .backfill = policy->backfill, .cluster = cluster};
	cycle.reservations = policy->backfill && policy->reservations > 1 ? policy->reservations : 1;
	cycle.profile = schedule_profile_new(cluster, reserved_index);
	cycle.empty = schedule_profile_empty(cycle.profile);
	cycle.fit = schedule_fit_new(cycle.profile);
	cycle.placement = schedule_placement_new(cycle.profile, cycle.fit);
	cycle.earliest = schedule_earliest_new(cycle.profile, cycle.placement);
	cycle.record = schedule_record_new(cluster);
	cycle.partition_state = schedule_arena_take(arena, snapshot->partition_count, sizeof *cycle.partition_state);
	cycle.closed_by = schedule_arena_take(arena, cluster->licenses.count, sizeof *cycle.closed_by);
	struct schedule_gang_queue *queue = schedule_gang_queue_new(cluster, requests);
	for (struct schedule_gang *gang; (gang = schedule_gang_queue_next(queue));)
		cycle_run_gang(&cycle, gang);
	schedule_placement_free(cycle.placement);
	schedule_requests_free(requests);
	return schedule_record_finish(cycle.record, cycle.fit->evaluations);
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
		[SCHEDULE_IMAGE] = "image",
		[SCHEDULE_PREP] = "prep",
		[SCHEDULE_POWER] = "power",
	};
	return name[reason];
}

enum schedule_power schedule_power_of(const char *text)
{
	if (!strcmp(text, "on"))
		return SCHEDULE_POWER_ON;
	return strcmp(text, "powering_on") ? SCHEDULE_POWER_OFF : SCHEDULE_POWER_COMING;
}

enum schedule_state schedule_state_of(const char *text)
{
	static const char *const name[] = {[SCHEDULE_UP] = "up", [SCHEDULE_DOWN] = "down", [SCHEDULE_DRAIN] = "drain"};
	for (size_t i = 0; i < sizeof name / sizeof *name; i++)
		if (text && !strcmp(text, name[i]))
			return (enum schedule_state)i;
	return SCHEDULE_INACTIVE;
}
