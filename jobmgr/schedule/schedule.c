/* schedule.c - decides for each gang of the queue in turn: it starts, or it waits and may get a backfill reservation.
 *
 * Called by: lead_cycle.c through schedule_run().
 * Invariants:
 *  - A step that no free resource could start (partition, limit, deadline, nodes, missing peers) waits and blocks no other step.
 *  - The first step of a partition that does not fit blocks the partition. The first `reservations` waiting steps get backfill
 *    reservations, which bind all partitions. Without backfill nothing starts behind a blocking step.
 *  - A step that only an outage delays gets a reservation after the outage and blocks nothing: steps that end before it may
 *    start.
 *  - A step that is placed on a node that is not on yet, or has another image, waits for that, and keeps its resources in this run as if
 *    it had started.
 *  - A step that lacks only a licence blocks no nodes. It closes the licence to later steps, so small users do not starve large
 *    ones. */
#include "jobmgr/schedule/schedule.h"

#include <math.h>
#include <string.h>

#include "jobmgr/schedule/schedule_bits.h"
#include "jobmgr/schedule/schedule_cycle.h"
#include "jobmgr/schedule/schedule_explain.h"

const struct schedule_policy schedule_policy_default = {.backfill = true, .reservations = 8};

/* Part 1: decide whether a gang starts now, and if not, why. */

/* Set the time limits with which the members of a gang are placed next: the full ones, or the shortest that they accept
 * (--time-min). */
static void gang_set_time_limits(struct schedule_gang *gang, bool full)
{
	for (size_t i = 0; i < gang->count; i++)
		gang->member[i].seconds = full ? gang->member[i].request->full_s : gang->member[i].request->least_s;
}

static bool decide_licenses_closed(struct schedule_cycle *cycle, const struct schedule_gang *gang, size_t *stuck,
				   struct schedule_cause *cause)
{
	struct schedule_arena *arena = cycle->cluster->arena;
	for (size_t i = 0; i < gang->count; i++) {
		const struct schedule_request *request = gang->member[i].request;
		for (size_t k = 0; k < request->license_count; k++) {
			size_t kind = request->licenses[k].kind;
			int64_t reserved = schedule_reserved_amount(request->reserved, (int)cycle->cluster->nodes, kind);
			if (!cycle->closed_by[kind] || reserved >= request->licenses[k].count)
				continue;
			const struct schedule_pending *first = &cycle->snapshot->pending[cycle->closed_by[kind] - 1];
			*stuck = i;
			*cause = (struct schedule_cause){.reason = SCHEDULE_LICENSE, .job = first->job, .step = first->step};
			cause->message =
				schedule_arena_print(arena, "license \"%s\" goes to %s first",
						     cycle->cluster->licenses.name[kind], schedule_explain_pending(arena, first));
			return true;
		}
	}
	return false;
}

/* Does a waiting step of a partition of the gang come first? Without backfill no step starts before a waiting step of its
 * partition. */
static bool decide_partition_blocked(struct schedule_cycle *cycle, const struct schedule_gang *gang, size_t *stuck,
				     struct schedule_cause *cause)
{
	for (size_t i = 0; i < gang->count && !cycle->backfill; i++) {
		const struct schedule_partition_state *state = schedule_cycle_partition(cycle, &gang->member[i]);
		if (!state->blocked)
			continue;
		const struct schedule_pending *first = &cycle->snapshot->pending[state->first_blocked];
		struct schedule_arena *arena = cycle->cluster->arena;
		*stuck = i;
		*cause = (struct schedule_cause){
			.reason = SCHEDULE_PRIORITY, .job = first->job, .step = first->step, .blocks = true};
		cause->message = schedule_arena_print(arena, "%s goes first", schedule_explain_pending(arena, first));
		return true;
	}
	return false;
}

/* Returns the latest begin of a backfill reservation or outage that was not tried yet. *reservation and *outage count down. */
static double decide_previous_start(const struct schedule_profile *profile, size_t *reservation, size_t *outage)
{
	double from = *reservation ? profile->by_from[*reservation - 1]->from : -INFINITY;
	if (*outage && profile->outages.list[*outage - 1].from > from)
		return profile->outages.list[--*outage].from;
	--*reservation;
	return from;
}

/* Try to place a step with the longest time limit that ends before a backfill reservation or an outage. Only steps with
 * --time-min accept less than their full limit. */
static bool decide_try_shortened(struct schedule_cycle *cycle, struct schedule_gang *gang)
{
	struct schedule_profile *profile = cycle->profile;
	struct schedule_member *member = &gang->member[0];
	gang_set_time_limits(gang, false);
	size_t reservation = profile->reservation_count, outage = profile->outages.count;
	if ((!reservation && !outage) || !schedule_placement_try(cycle->placement, &profile->live, gang))
		return false;
	if (gang->count > 1)
		return true;
	schedule_placement_undo(cycle->placement, &profile->live);
	while (reservation || outage) {
		double from = decide_previous_start(profile, &reservation, &outage), seconds = floor(from - profile->live.at);
		if (from >= SCHEDULE_FOREVER || (member->request->full_s && seconds >= (double)member->request->full_s))
			continue;
		if (seconds <= (double)member->request->least_s)
			break;
		member->seconds = (int64_t)seconds;
		if (schedule_placement_try(cycle->placement, &profile->live, gang))
			return true;
	}
	gang_set_time_limits(gang, false);
	return schedule_placement_try(cycle->placement, &profile->live, gang);
}

/* Note when the resources of a placed step become free. The amounts are copied, since the next placement overwrites them. */
static void decide_add_ends(struct schedule_cycle *cycle, const struct schedule_member *member,
			    const struct schedule_placed *placed, const struct schedule_taken *taken)
{
	for (size_t i = 0; i < placed->node_count + placed->licensed; i++) {
		int64_t *amount = schedule_cluster_amounts(cycle->cluster);
		memcpy(amount, taken[i].need, cycle->cluster->kinds * sizeof *amount);
		schedule_profile_add_end(cycle->profile, fmin(placed->until, SCHEDULE_FOREVER), taken[i].node_index,
					 ~(int)member->pending, amount);
	}
}

/* What a placed gang waits for at its nodes. */
struct node_wait {
	const char *names; /* the first ones */
	size_t count;
	double ready_at; /* the latest time at which one is expected to be ready; 0: not known */
};

static void node_wait_add(struct schedule_arena *arena, struct node_wait *wait, const struct schedule_node *node)
{
	enum { NAMES_MOST = 4 };
	if (wait->count < NAMES_MOST)
		wait->names = schedule_arena_print(arena, "%s%s%s", wait->count ? wait->names : "", wait->count ? ", " : "",
						   node->name);
	else if (wait->count == NAMES_MOST)
		wait->names = schedule_arena_print(arena, "%s and others", wait->names);
	wait->count++;
	wait->ready_at = fmax(wait->ready_at, node->ready_at);
}

static const char *node_wait_explain(struct schedule_arena *arena, const struct node_wait *wait, const char *what)
{
	const char *text =
		schedule_arena_print(arena, "waits for node%s %s to be %s", wait->count == 1 ? "" : "s", wait->names, what);
	return wait->ready_at > 0 ? schedule_arena_print(arena, "%s, ready about %s", text,
							 schedule_explain_at(arena, wait->ready_at) + strlen("at "))
				  : text;
}

/* Does the placed gang wait for its nodes: for the right image, or to be powered on? Sets `cause` if it does. */
static bool decide_waits_for_nodes(const struct schedule_cycle *cycle, const struct schedule_gang *gang,
				   struct schedule_cause *cause)
{
	const struct schedule_cluster *c = cycle->cluster;
	struct node_wait power = {0}, image = {0};
	size_t count;
	const struct schedule_placed *placed = schedule_placement_placed(cycle->placement, &count);
	const char *name = NULL;
	for (size_t i = 0; i < count; i++) {
		const struct schedule_taken *taken = schedule_placement_taken(cycle->placement, &placed[i]);
		const char *asked = gang->member[placed[i].member].step->image;
		for (size_t k = 0; k < placed[i].node_count; k++) {
			size_t node_index = (size_t)taken[k].node_index;
			const struct schedule_node *node = c->node[node_index];
			if (schedule_bits_has(c->changing, node_index) ||
			    schedule_cluster_image(c, asked, node_index) == SCHEDULE_IMAGE_OTHER) {
				node_wait_add(c->arena, &image, node);
				name = asked ? asked : node->default_image;
			} else if (node->power != SCHEDULE_POWER_ON) {
				node_wait_add(c->arena, &power, node);
			}
		}
	}
	*cause = (struct schedule_cause){.reason = image.count ? SCHEDULE_IMAGE : SCHEDULE_POWER, .step = -1};
	if (image.count)
		cause->message =
			node_wait_explain(c->arena, &image, schedule_arena_print(c->arena, "booted with image %s", name));
	else if (power.count)
		cause->message = node_wait_explain(c->arena, &power, "powered on");
	return cause->message != NULL;
}

/* Record that the placed gang starts, or that it waits for its nodes. */
static void decide_record_start(struct schedule_cycle *cycle, const struct schedule_gang *gang)
{
	size_t count;
	const struct schedule_placed *placed = schedule_placement_placed(cycle->placement, &count);
	struct schedule_cause cause;
	bool backfilled = false;
	cycle->waits_for_nodes = decide_waits_for_nodes(cycle, gang, &cause);
	for (size_t i = 0; i < gang->count; i++)
		backfilled |= schedule_cycle_partition(cycle, &gang->member[i])->blocked;
	for (size_t i = 0; i < count; i++) {
		const struct schedule_member *member = &gang->member[placed[i].member];
		const struct schedule_taken *taken = schedule_placement_taken(cycle->placement, &placed[i]);
		if (cycle->waits_for_nodes)
			schedule_record_node_wait(cycle->record, member, &placed[i], taken, &cause);
		else
			schedule_record_start(cycle->record, member, &placed[i], taken, backfilled);
		decide_add_ends(cycle, member, &placed[i], taken);
	}
	cycle->fit->last_request = count == 1 && placed->node_count == 1 ? gang->member[0].request : NULL;
	if (!cycle->fit->last_request)
		return;
	cycle->fit->last_node = schedule_placement_taken(cycle->placement, placed)->node_index;
	cycle->fit->last_until = placed->until;
}

static bool decide_try_start(struct schedule_cycle *cycle, struct schedule_gang *gang)
{
	bool flexible = false;
	for (size_t i = 0; i < gang->count; i++)
		flexible |= gang->member[i].request->least_s != gang->member[i].request->full_s;
	gang_set_time_limits(gang, true);
	if (!schedule_placement_try(cycle->placement, &cycle->profile->live, gang) &&
	    !(flexible && decide_try_shortened(cycle, gang)))
		return false;
	decide_record_start(cycle, gang);
	return true;
}

/* Does the gang fit in the view? For a single step the first nodes found are enough, since the best ones are not needed. */
static bool decide_fits_view(struct schedule_cycle *cycle, struct schedule_view *view, const struct schedule_gang *gang)
{
	cycle->fit->any_nodes = gang->count == 1;
	bool fits = schedule_placement_try(cycle->placement, view, gang);
	cycle->fit->any_nodes = false;
	if (fits)
		schedule_placement_undo(cycle->placement, view);
	return fits;
}

/* Would the gang fit on an empty cluster? */
static bool decide_fits_empty(struct schedule_cycle *cycle, struct schedule_gang *gang)
{
	struct schedule_request *request = gang->count == 1 ? gang->member[0].request : NULL;
	if (request && request->possible)
		return true;
	bool possible = decide_fits_view(cycle, &cycle->empty, gang);
	if (request)
		request->possible = possible;
	return possible;
}

/* Returns why the gang does not start: missing resources, a backfill reservation, or an outage. `stuck` is set to the member that
 * does not fit. */
static struct schedule_cause decide_find_cause(struct schedule_cycle *cycle, struct schedule_gang *gang, size_t *stuck)
{
	struct schedule_arena *arena = cycle->cluster->arena;
	struct schedule_view view = cycle->profile->live;
	bool for_licenses;
	*stuck = schedule_placement_stuck(cycle->placement, &for_licenses);
	view.ignores_reservations = true;
	gang_set_time_limits(gang, false);
	if (cycle->profile->reservation_count && decide_fits_view(cycle, &view, gang))
		return schedule_explain_priority(arena, cycle->profile, gang->member[*stuck].request);
	size_t nodes_free = cycle->fit->candidate_count;
	*stuck = schedule_placement_stuck(cycle->placement, &for_licenses);
	view.ignores_outages = true;
	if (cycle->profile->outages.count && decide_fits_view(cycle, &view, gang))
		return schedule_explain_maintenance(arena, cycle->profile, gang->member[*stuck].request);
	if (!decide_fits_empty(cycle, gang)) {
		*stuck = schedule_placement_stuck(cycle->placement, &for_licenses);
		if (for_licenses)
			return (struct schedule_cause){.reason = SCHEDULE_LICENSE,
						       .step = -1,
						       .message = "it and its peers ask for more licenses than there are"};
		return schedule_explain_node(arena, gang->member[*stuck].request);
	}
	if (for_licenses)
		return schedule_explain_license(arena, cycle->profile, gang->member[*stuck].request);
	return schedule_explain_resources(arena, cycle->profile, gang->member[*stuck].request, nodes_free);
}

/* Start the gang, or have it wait for the power or the image of its nodes alone. Returns false if the gang waits for `cause`; then `stuck` is the
 * member that does not fit. */
static bool decide_gang(struct schedule_cycle *cycle, struct schedule_gang *gang, size_t *stuck, struct schedule_cause *cause)
{
	struct schedule_request *request = gang->member[0].request;
	*stuck = 0;
	if (decide_licenses_closed(cycle, gang, stuck, cause) || decide_partition_blocked(cycle, gang, stuck, cause))
		return false;
	if (gang->count == 1 && request->failed) {
		*cause = request->cause;
		return false;
	}
	if (decide_try_start(cycle, gang))
		return true;
	*cause = decide_find_cause(cycle, gang, stuck);
	if (gang->count > 1)
		return false;
	request->failed = true;
	request->cause = *cause;
	request->refused = cause->reason == SCHEDULE_NODE;
	return false;
}

/* Part 2: a gang waits. */

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

/* Would a member of the gang miss its deadline with a start at `at`? Then a backfill reservation is of no use. */
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
	gang_set_time_limits(gang, true);
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

/* Close the licences that the step lacks to later steps. If the step alone lacks none, close all licences that it asks for. */
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

/* Record why the gang waits, block its partitions and close licences as the cause says, and work out its expected start. */
static void wait_gang(struct schedule_cycle *cycle, struct schedule_gang *gang, size_t stuck, const struct schedule_cause *cause)
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

/* Part 3: go through the queue. */

/* Does the gang wait for a reason that free resources cannot remove? If so, the reason is recorded. */
static bool cycle_refuse_gang(struct schedule_cycle *cycle, struct schedule_gang *gang)
{
	struct schedule_cause cause = {.reason = SCHEDULE_PEER, .step = -1};
	int missing = schedule_gang_count_missing(gang);
	for (size_t i = 0; i < gang->count; i++) {
		const struct schedule_member *member = &gang->member[i];
		int free_slots = member->step->array_size > 0 ? member->step->array_free_slots : -1;
		if (member->request->refused) {
			wait_gang(cycle, gang, i, &member->request->cause);
			return true;
		}
		if (free_slots < 0 || free_slots >= member->elements)
			continue;
		cause.reason = SCHEDULE_ARRAY_LIMIT;
		cause.message = free_slots ? "its elements start together, and its %limit allows fewer"
					   : "as many of its elements run as its %limit allows";
		wait_gang(cycle, gang, i, &cause);
		return true;
	}
	if (!missing)
		return false;
	cause.message = schedule_arena_print(cycle->cluster->arena, "starts together with %d step%s that cannot start yet",
					     missing, missing == 1 ? "" : "s");
	for (size_t i = 0; i < gang->count; i++)
		schedule_record_wait(cycle->record, gang->member[i].pending, &cause);
	return true;
}

/* Count reserved resources that a started step did not take as free in a second. The commit of the start frees them. */
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
	cause.message = "as many of its elements run as its %limit allows";
	while (schedule_gang_next_position(member) && starts && (free_slots < 0 || started < free_slots)) {
		starts = decide_gang(cycle, gang, &stuck, &cause);
		started += starts;
		any_started |= starts && !cycle->waits_for_nodes;
		member->position += starts;
	}
	if (any_started)
		cycle_release_reserved(cycle, member);
	if (!starts)
		schedule_predispatch(cycle, member, &cause, free_slots < 0 ? free_slots : free_slots - started);
	if (schedule_gang_next_position(member))
		wait_gang(cycle, gang, stuck, &cause);
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
	} else if (decide_gang(cycle, gang, &stuck, &cause)) {
		for (size_t i = 0; i < gang->count && !cycle->waits_for_nodes; i++)
			cycle_release_reserved(cycle, &gang->member[i]);
	} else {
		wait_gang(cycle, gang, stuck, &cause);
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
