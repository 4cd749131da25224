/* schedule_set.c - places the members of a unit one after the other, and takes everything back when one does not fit.
 *
 * Called for each decision: a step alone is a unit of one member. There is no search beyond the order worked out in
 * schedule_order.c: the member with the fewest nodes to choose from goes first. */
#include "jobmgr/schedule/schedule_placement.h"

#include <stdlib.h>
#include <string.h>

#include "jobmgr/schedule/schedule_bits.h"
#include "lib/err.h"

struct schedule_set {
	struct schedule_profile *profile;
	const struct schedule_cluster *cluster;
	struct schedule_fit *fit;
	struct schedule_placed *placed;
	size_t placed_count, placed_capacity;
	struct schedule_taken *taken;
	size_t taken_count, taken_capacity;
	uint64_t *ban;
	struct schedule_spot *forced;
	size_t stuck;
	bool for_licenses;
};

struct schedule_set *schedule_set_new(struct schedule_profile *profile, struct schedule_fit *fit)
{
	struct schedule_set *set = xcalloc(1, sizeof *set);
	set->profile = profile;
	set->cluster = profile->cluster;
	set->fit = fit;
	set->ban = schedule_cluster_bits(profile->cluster);
	set->forced = schedule_arena_take(set->cluster->arena, set->cluster->nodes, sizeof *set->forced);
	return set;
}

void schedule_set_free(struct schedule_set *set)
{
	if (!set)
		return;
	free(set->placed);
	free(set->taken);
	free(set);
}

/* The next entry of set->taken; its amounts are used again from try to try. */
static struct schedule_taken *set_entry(struct schedule_set *set)
{
	if (set->taken_count == set->taken_capacity) {
		size_t capacity = set->taken_capacity ? set->taken_capacity * 2 : 64;
		set->taken = xrealloc(set->taken, capacity * sizeof *set->taken);
		for (size_t i = set->taken_capacity; i < capacity; i++) {
			set->taken[i].need = schedule_cluster_amounts(set->cluster);
			set->taken[i].draw = schedule_cluster_amounts(set->cluster);
		}
		set->taken_capacity = capacity;
	}
	return &set->taken[set->taken_count++];
}

static struct schedule_placed *set_place(struct schedule_set *set)
{
	if (set->placed_count == set->placed_capacity) {
		set->placed_capacity = set->placed_capacity ? set->placed_capacity * 2 : 16;
		set->placed = xrealloc(set->placed, set->placed_capacity * sizeof *set->placed);
	}
	return &set->placed[set->placed_count++];
}

static void set_take(struct schedule_set *set, struct schedule_view *view, const struct schedule_placed *placed,
		     struct schedule_taken *taken)
{
	schedule_kept_draw(set->cluster, placed->kept, taken->place, taken->need, taken->draw);
	schedule_profile_take(set->profile, view, (size_t)taken->place, taken->draw, placed->until);
}

/* Take what the answer of the last schedule_fit_nodes() needs. */
static void set_record(struct schedule_set *set, struct schedule_view *view, const struct schedule_unit *unit, size_t member,
		       int position, double until)
{
	const struct schedule_member *m = &unit->member[member];
	struct schedule_placed *placed = set_place(set);
	*placed = (struct schedule_placed){.member = member,
					   .position = position,
					   .seconds = m->seconds,
					   .until = until,
					   .kept = view->empty ? NULL : m->request->kept,
					   .first = set->taken_count,
					   .spots = set->fit->spots,
					   .licensed = m->request->license_count > 0};
	for (size_t i = 0; i < placed->spots; i++) {
		struct schedule_taken *taken = set_entry(set);
		taken->place = set->fit->spot[i].place;
		taken->tasks = set->fit->spot[i].tasks;
		schedule_request_need(set->cluster, m->request, taken->place, taken->tasks, taken->need);
		set_take(set, view, placed, taken);
	}
	if (!placed->licensed)
		return;
	struct schedule_taken *taken = set_entry(set);
	taken->place = (int)set->cluster->nodes;
	taken->tasks = 0;
	schedule_request_licenses(set->cluster, m->request, taken->need);
	set_take(set, view, placed, taken);
}

static bool names_step(const int *step, size_t count, int wanted)
{
	for (size_t i = 0; i < count; i++)
		if (step[i] == wanted)
			return true;
	return false;
}

static bool keeps_away(const struct schedule_pending *a, const struct schedule_pending *b)
{
	return names_step(a->other_than, a->other_than_count, b->step) || names_step(b->other_than, b->other_than_count, a->step);
}

/* The nodes of the members placed so far that this one must not share. */
static const uint64_t *set_ban(struct schedule_set *set, const struct schedule_unit *unit, size_t member)
{
	bool any = false;
	for (size_t i = 0; i < set->placed_count; i++) {
		const struct schedule_placed *placed = &set->placed[i];
		if (placed->member == member || !keeps_away(unit->member[member].step, unit->member[placed->member].step))
			continue;
		if (!any)
			memset(set->ban, 0, set->cluster->words * sizeof *set->ban);
		any = true;
		for (size_t k = 0; k < placed->spots; k++)
			schedule_bits_add(set->ban, (size_t)set->taken[placed->first + k].place);
	}
	return any ? set->ban : NULL;
}

/* The nodes of the member whose nodes this one shares, as the terms of its placing. */
static void set_root(struct schedule_set *set, const struct schedule_unit *unit, size_t member, struct schedule_terms *terms)
{
	size_t i = 0;
	while (i < set->placed_count && set->placed[i].member != unit->member[member].root)
		i++;
	if (i == set->placed_count)
		return;
	const struct schedule_placed *placed = &set->placed[i];
	for (size_t k = 0; k < placed->spots; k++)
		set->forced[k].place = set->taken[placed->first + k].place;
	terms->forced = set->forced;
	terms->forced_count = placed->spots;
}

static bool set_member(struct schedule_set *set, struct schedule_view *view, const struct schedule_unit *unit, size_t member)
{
	struct schedule_member m = unit->member[member];
	struct schedule_terms terms = {0};
	double until = schedule_profile_until(view->at, m.seconds);
	if (unit->count > 1)
		terms.ban = set_ban(set, unit, member);
	if (m.root != member)
		set_root(set, unit, member, &terms);
	for (int i = 0; i < m.elements; i++, m.position++) {
		bool leads = m.joint && !i;
		terms.extra = leads ? m.extra : NULL;
		bool plain = !terms.ban && !terms.forced && !terms.extra;
		if (m.position >= 0 && !schedule_gang_position(&m))
			return false;
		set->for_licenses = false;
		if (!schedule_fit_nodes(set->fit, view, leads ? m.joint : m.request, until, plain ? NULL : &terms))
			return false;
		set->for_licenses = true;
		if (!schedule_fit_licenses(set->profile, view, m.request, until))
			return false;
		set_record(set, view, unit, member, m.position, until);
	}
	return true;
}

bool schedule_set_try(struct schedule_set *set, struct schedule_view *view, const struct schedule_unit *unit)
{
	set->placed_count = set->taken_count = 0;
	for (size_t i = 0; i < unit->count; i++) {
		set->stuck = unit->order[i];
		if (!set_member(set, view, unit, unit->order[i])) {
			schedule_set_undo(set, view);
			return false;
		}
	}
	return true;
}

void schedule_set_undo(struct schedule_set *set, struct schedule_view *view)
{
	for (size_t i = set->placed_count; i--;) {
		const struct schedule_placed *placed = &set->placed[i];
		for (size_t k = placed->spots + placed->licensed; k--;) {
			const struct schedule_taken *taken = &set->taken[placed->first + k];
			schedule_kept_return(set->cluster, placed->kept, taken->place, taken->need, taken->draw);
			schedule_profile_give(set->profile, view, (size_t)taken->place, taken->draw, placed->until);
		}
	}
	set->placed_count = set->taken_count = 0;
}

size_t schedule_set_stuck(const struct schedule_set *set, bool *for_licenses)
{
	*for_licenses = set->for_licenses;
	return set->stuck;
}

const struct schedule_placed *schedule_set_placed(const struct schedule_set *set, size_t *count)
{
	*count = set->placed_count;
	return set->placed;
}

const struct schedule_taken *schedule_set_taken(const struct schedule_set *set, const struct schedule_placed *placed)
{
	return &set->taken[placed->first];
}

/* What is kept for a step stays kept until it starts; so only its draws are pieces of the hold. */
void schedule_set_hold(struct schedule_set *set, struct schedule_view *view, const struct schedule_unit *unit)
{
	struct schedule_arena *arena = set->cluster->arena;
	struct schedule_hold *hold = schedule_arena_take(arena, set->placed_count, sizeof *hold);
	for (size_t i = 0; i < set->placed_count; i++) {
		const struct schedule_placed *placed = &set->placed[i];
		hold[i].pending = unit->member[placed->member].pending;
		hold[i].from = view->at;
		hold[i].to = placed->until;
		hold[i].piece_count = placed->spots + placed->licensed;
		hold[i].piece = schedule_arena_take(arena, hold[i].piece_count, sizeof *hold[i].piece);
		for (size_t k = 0; k < hold[i].piece_count; k++) {
			const struct schedule_taken *taken = &set->taken[placed->first + k];
			int64_t *draw = schedule_cluster_amounts(set->cluster);
			memcpy(draw, taken->draw, set->cluster->kinds * sizeof *draw);
			hold[i].piece[k].place = taken->place;
			hold[i].piece[k].draw = draw;
			schedule_kept_return(set->cluster, placed->kept, taken->place, taken->need, taken->draw);
		}
	}
	schedule_profile_hold(set->profile, view, hold, set->placed_count);
	set->placed_count = set->taken_count = 0;
}
