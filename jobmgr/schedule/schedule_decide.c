/* schedule_decide.c - decides whether a gang starts now, and if not, why.
 *
 * Called by: schedule.c, for each gang and for each element of an array.
 * Invariants:
 *  - Without backfill no step starts before a waiting step of its partition.
 *  - A step that is placed on a node that is not on yet, or has another setup, waits until the node is ready. In this run of the
 *    scheduler it keeps its resources as if it had started.
 *  - A gang that does not start has taken no resources. */
#include <math.h>
#include <string.h>

#include "jobmgr/schedule/schedule_bits.h"
#include "jobmgr/schedule/schedule_cycle.h"
#include "jobmgr/schedule/schedule_explain.h"
#include "lib/text.h"

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

/* Returns the latest begin of a backfill reservation or outage that was not tried yet. *reservation and *outage are the numbers
 * of those that are left to try, and count down. */
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
	schedule_gang_set_time_limits(gang, false);
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
	schedule_gang_set_time_limits(gang, false);
	return schedule_placement_try(cycle->placement, &profile->live, gang);
}

/* Add to the profile when the resources of a placed step become free. The amounts are copied, since the next placement
 * overwrites them. */
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

/* Nodes that a placed gang waits for, until they are powered on or have their setup. */
struct node_wait {
	const char *names; /* names of the first of these nodes */
	size_t count;
	double ready_at; /* latest time at which a node that the gang waits for is expected to be ready; 0: not known */
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
		schedule_arena_print(arena, "waits for node%s %s to be %s", text_plural(wait->count), wait->names, what);
	return wait->ready_at > 0 ? schedule_arena_print(arena, "%s, ready about %s", text,
							 schedule_explain_at(arena, wait->ready_at) + strlen("at "))
				  : text;
}

/* Set `cause`: the step waits until nodes of its placement are booted with `image` or prepared as it needs. */
static void node_wait_set_setup(struct schedule_arena *arena, const struct node_wait *wait, const struct schedule_pending *step,
				const char *image, struct schedule_cause *cause)
{
	const char *what =
		step->prep ? schedule_arena_print(arena, "prepared with %s", step->prep) : "put back to no preparation";
	if (image)
		what = step->prep ? schedule_arena_print(arena, "booted with image %s and %s", image, what)
				  : schedule_arena_print(arena, "booted with image %s", image);
	cause->reason = image ? SCHEDULE_IMAGE : SCHEDULE_PREP;
	cause->message = node_wait_explain(arena, wait, what);
}

/* Returns the image with which a step waits for a node that gets another setup; NULL: only the preparation changes. */
static const char *setup_awaited_image(const struct schedule_cluster *c, const struct schedule_pending *step, size_t node_index)
{
	const struct schedule_node *node = c->node[node_index];
	/* While the setup of a node is being changed, the snapshot does not say whether the node is rebooted for it. */
	if (schedule_bits_has(c->changing, node_index) && step->prep)
		return step->image;
	if (schedule_bits_has(c->changing, node_index) || schedule_cluster_needs_boot(c, step, node_index))
		return step->image ? step->image : node->default_image;
	return NULL;
}

/* Does the placed gang wait for its nodes: for the right setup, or to be powered on? Sets `cause` if it does. */
static bool decide_waits_for_nodes(const struct schedule_cycle *cycle, const struct schedule_gang *gang,
				   struct schedule_cause *cause)
{
	const struct schedule_cluster *c = cycle->cluster;
	struct node_wait power = {0}, setup = {0};
	size_t count;
	const struct schedule_placed *placed = schedule_placement_placed(cycle->placement, &count);
	const struct schedule_pending *waiting = NULL;
	const char *image = NULL;
	for (size_t i = 0; i < count; i++) {
		const struct schedule_taken *taken = schedule_placement_taken(cycle->placement, &placed[i]);
		const struct schedule_pending *step = gang->member[placed[i].member].step;
		for (size_t k = 0; k < placed[i].node_count; k++) {
			size_t node_index = (size_t)taken[k].node_index;
			const struct schedule_node *node = c->node[node_index];
			if (schedule_bits_has(c->changing, node_index) ||
			    schedule_cluster_setup(c, step, node_index) == SCHEDULE_SETUP_OTHER) {
				node_wait_add(c->arena, &setup, node);
				waiting = step;
				image = image ? image : setup_awaited_image(c, step, node_index);
			} else if (node->power != SCHEDULE_POWER_ON) {
				node_wait_add(c->arena, &power, node);
			}
		}
	}
	*cause = (struct schedule_cause){.reason = SCHEDULE_POWER, .step = -1};
	if (setup.count)
		node_wait_set_setup(c->arena, &setup, waiting, image, cause);
	else if (power.count)
		cause->message = node_wait_explain(c->arena, &power, "powered on");
	return cause->message != NULL;
}

/* Record that the placed gang starts, or that it waits until its nodes are ready. */
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
	schedule_gang_set_time_limits(gang, true);
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
	schedule_gang_set_time_limits(gang, false);
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
						       .message = "the step and its peers ask for more licenses than there are"};
		return schedule_explain_node(arena, gang->member[*stuck].request);
	}
	if (for_licenses)
		return schedule_explain_license(arena, cycle->profile, gang->member[*stuck].request);
	return schedule_explain_resources(arena, cycle->profile, gang->member[*stuck].request, nodes_free);
}

bool schedule_decide_gang(struct schedule_cycle *cycle, struct schedule_gang *gang, size_t *stuck, struct schedule_cause *cause)
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
