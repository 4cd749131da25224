/* schedule_placement.c - places the members of a gang one after the other, and undoes the whole placement if one member does not
 * fit.
 *
 * Called by: schedule_decide.c, schedule_wait.c and schedule_earliest.c.
 * Invariants:
 *  - Members are placed in gang->order only; no other order is tried. */
#include "jobmgr/schedule/schedule_placement.h"

#include <stdlib.h>
#include <string.h>

#include "jobmgr/schedule/schedule_bits.h"
#include "lib/err.h"

struct schedule_placement {
	struct schedule_profile *profile;
	const struct schedule_cluster *cluster;
	struct schedule_fit *fit;
	struct schedule_placed *placed;
	size_t placed_count, placed_capacity;
	struct schedule_taken *taken;
	size_t taken_count, taken_capacity;
	uint64_t *ban;
	struct schedule_node_tasks *forced;
	size_t stuck;
	bool for_licenses;
};

struct schedule_placement *schedule_placement_new(struct schedule_profile *profile, struct schedule_fit *fit)
{
	struct schedule_placement *placement = xcalloc(1, sizeof *placement);
	placement->profile = profile;
	placement->cluster = profile->cluster;
	placement->fit = fit;
	placement->ban = schedule_cluster_bits(profile->cluster);
	placement->forced = schedule_arena_take(placement->cluster->arena, placement->cluster->nodes, sizeof *placement->forced);
	return placement;
}

void schedule_placement_free(struct schedule_placement *placement)
{
	if (!placement)
		return;
	free(placement->placed);
	free(placement->taken);
	free(placement);
}

/* Returns the next entry of the list `taken`. Later placements reuse the memory of its amounts. */
static struct schedule_taken *placement_add_taken(struct schedule_placement *placement)
{
	if (placement->taken_count == placement->taken_capacity) {
		size_t capacity = placement->taken_capacity ? placement->taken_capacity * 2 : 64;
		placement->taken = xrealloc(placement->taken, capacity * sizeof *placement->taken);
		for (size_t i = placement->taken_capacity; i < capacity; i++) {
			placement->taken[i].need = schedule_cluster_amounts(placement->cluster);
			placement->taken[i].draw = schedule_cluster_amounts(placement->cluster);
		}
		placement->taken_capacity = capacity;
	}
	return &placement->taken[placement->taken_count++];
}

static struct schedule_placed *placement_add_placed(struct schedule_placement *placement)
{
	if (placement->placed_count == placement->placed_capacity) {
		placement->placed_capacity = placement->placed_capacity ? placement->placed_capacity * 2 : 16;
		placement->placed = xrealloc(placement->placed, placement->placed_capacity * sizeof *placement->placed);
	}
	return &placement->placed[placement->placed_count++];
}

static void placement_take(struct schedule_placement *placement, struct schedule_view *view, const struct schedule_placed *placed,
			   struct schedule_taken *taken)
{
	schedule_reserved_draw(placement->cluster, placed->reserved, taken->node_index, taken->need, taken->draw);
	schedule_profile_take(placement->profile, view, (size_t)taken->node_index, taken->draw, placed->until);
}

/* Take the resources of a member on the nodes found by the last schedule_fit_nodes(), and its licences. */
static void placement_record_member(struct schedule_placement *placement, struct schedule_view *view,
				    const struct schedule_gang *gang, size_t member, int position, double until)
{
	const struct schedule_member *m = &gang->member[member];
	struct schedule_placed *placed = placement_add_placed(placement);
	*placed = (struct schedule_placed){.member = member,
					   .position = position,
					   .seconds = m->seconds,
					   .until = until,
					   .reserved = view->empty ? NULL : m->request->reserved,
					   .first = placement->taken_count,
					   .node_count = placement->fit->chosen_count,
					   .licensed = m->request->license_count > 0};
	for (size_t i = 0; i < placed->node_count; i++) {
		struct schedule_taken *taken = placement_add_taken(placement);
		taken->node_index = placement->fit->chosen[i].node_index;
		taken->tasks = placement->fit->chosen[i].tasks;
		schedule_request_need(placement->cluster, m->request, taken->node_index, taken->tasks, taken->need);
		placement_take(placement, view, placed, taken);
	}
	if (!placed->licensed)
		return;
	struct schedule_taken *taken = placement_add_taken(placement);
	taken->node_index = (int)placement->cluster->nodes;
	taken->tasks = 0;
	schedule_request_licenses(placement->cluster, m->request, taken->need);
	placement_take(placement, view, placed, taken);
}

static bool list_has_step(const int *step, size_t count, int wanted)
{
	for (size_t i = 0; i < count; i++)
		if (step[i] == wanted)
			return true;
	return false;
}

static bool members_exclude(const struct schedule_pending *a, const struct schedule_pending *b)
{
	return list_has_step(a->other_than, a->other_than_count, b->step) ||
	       list_has_step(b->other_than, b->other_than_count, a->step);
}

/* Returns the set of nodes of placed members that this member must not share (--other-nodes). */
static const uint64_t *placement_ban(struct schedule_placement *placement, const struct schedule_gang *gang, size_t member)
{
	bool any = false;
	for (size_t i = 0; i < placement->placed_count; i++) {
		const struct schedule_placed *placed = &placement->placed[i];
		if (placed->member == member || !members_exclude(gang->member[member].step, gang->member[placed->member].step))
			continue;
		if (!any)
			memset(placement->ban, 0, placement->cluster->words * sizeof *placement->ban);
		any = true;
		for (size_t k = 0; k < placed->node_count; k++)
			schedule_bits_add(placement->ban, (size_t)placement->taken[placed->first + k].node_index);
	}
	return any ? placement->ban : NULL;
}

/* Bind a gang member to the nodes of its root. */
static void placement_follow_root(struct schedule_placement *placement, const struct schedule_gang *gang, size_t member,
				  struct schedule_terms *terms)
{
	size_t i = 0;
	while (i < placement->placed_count && placement->placed[i].member != gang->member[member].root)
		i++;
	if (i == placement->placed_count)
		return;
	const struct schedule_placed *placed = &placement->placed[i];
	for (size_t k = 0; k < placed->node_count; k++)
		placement->forced[k].node_index = placement->taken[placed->first + k].node_index;
	terms->forced = placement->forced;
	terms->forced_count = placed->node_count;
}

/* Find nodes for a root that take the tasks of all members on the same nodes. */
static bool placement_fit_root(struct schedule_placement *placement, const struct schedule_view *view,
			       const struct schedule_member *root, double until, struct schedule_terms *terms)
{
	terms->extra = root->extra;
	if (schedule_fit_nodes(placement->fit, view, root->joint, until, terms))
		return true;
	terms->extra = root->slots_extra;
	return root->slots && schedule_fit_nodes(placement->fit, view, root->slots, until, terms) &&
	       schedule_fit_spread(placement->fit, root->joint->ntasks);
}

static bool placement_try_member(struct schedule_placement *placement, struct schedule_view *view,
				 const struct schedule_gang *gang, size_t member)
{
	struct schedule_member m = gang->member[member];
	struct schedule_terms terms = {0};
	double until = schedule_profile_until(view->at, m.seconds);
	if (gang->count > 1)
		terms.ban = placement_ban(placement, gang, member);
	if (m.root != member)
		placement_follow_root(placement, gang, member, &terms);
	for (int i = 0; i < m.elements; i++, m.position++) {
		bool leads = m.joint && !i;
		bool plain = !terms.ban && !terms.forced;
		if (m.position >= 0 && !schedule_gang_next_position(&m))
			return false;
		placement->for_licenses = false;
		if (leads ? !placement_fit_root(placement, view, &m, until, &terms)
			  : !schedule_fit_nodes(placement->fit, view, m.request, until, plain ? NULL : &terms))
			return false;
		terms.extra = NULL;
		placement->for_licenses = true;
		if (!schedule_fit_licenses(placement->profile, view, m.request, until))
			return false;
		placement_record_member(placement, view, gang, member, m.position, until);
	}
	return true;
}

bool schedule_placement_try(struct schedule_placement *placement, struct schedule_view *view, const struct schedule_gang *gang)
{
	placement->placed_count = placement->taken_count = 0;
	for (size_t i = 0; i < gang->count; i++) {
		placement->stuck = gang->order[i];
		if (!placement_try_member(placement, view, gang, gang->order[i])) {
			schedule_placement_undo(placement, view);
			return false;
		}
	}
	return true;
}

void schedule_placement_undo(struct schedule_placement *placement, struct schedule_view *view)
{
	for (size_t i = placement->placed_count; i--;) {
		const struct schedule_placed *placed = &placement->placed[i];
		for (size_t k = placed->node_count + placed->licensed; k--;) {
			const struct schedule_taken *taken = &placement->taken[placed->first + k];
			schedule_reserved_return(placement->cluster, placed->reserved, taken->node_index, taken->need,
						 taken->draw);
			schedule_profile_give(placement->profile, view, (size_t)taken->node_index, taken->draw, placed->until);
		}
	}
	placement->placed_count = placement->taken_count = 0;
}

size_t schedule_placement_stuck(const struct schedule_placement *placement, bool *for_licenses)
{
	*for_licenses = placement->for_licenses;
	return placement->stuck;
}

const struct schedule_placed *schedule_placement_placed(const struct schedule_placement *placement, size_t *count)
{
	*count = placement->placed_count;
	return placement->placed;
}

const struct schedule_taken *schedule_placement_taken(const struct schedule_placement *placement,
						      const struct schedule_placed *placed)
{
	return &placement->taken[placed->first];
}

/* Reserved resources stay reserved until the step starts, so a backfill reservation holds only what is drawn from free
 * resources. */
void schedule_placement_reserve(struct schedule_placement *placement, struct schedule_view *view,
				const struct schedule_gang *gang)
{
	struct schedule_arena *arena = placement->cluster->arena;
	struct schedule_reservation *reservation = schedule_arena_take(arena, placement->placed_count, sizeof *reservation);
	for (size_t i = 0; i < placement->placed_count; i++) {
		const struct schedule_placed *placed = &placement->placed[i];
		reservation[i].pending = gang->member[placed->member].pending;
		reservation[i].from = view->at;
		reservation[i].to = placed->until;
		reservation[i].part_count = placed->node_count + placed->licensed;
		reservation[i].parts = schedule_arena_take(arena, reservation[i].part_count, sizeof *reservation[i].parts);
		for (size_t k = 0; k < reservation[i].part_count; k++) {
			const struct schedule_taken *taken = &placement->taken[placed->first + k];
			int64_t *draw = schedule_cluster_amounts(placement->cluster);
			memcpy(draw, taken->draw, placement->cluster->kinds * sizeof *draw);
			reservation[i].parts[k].node_index = taken->node_index;
			reservation[i].parts[k].draw = draw;
			schedule_reserved_return(placement->cluster, placed->reserved, taken->node_index, taken->need,
						 taken->draw);
		}
	}
	schedule_profile_reserve(placement->profile, view, reservation, placement->placed_count);
	placement->placed_count = placement->taken_count = 0;
}
