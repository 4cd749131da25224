/* schedule_unit.c - orders the pending steps and gathers the members of `with` sets.
 *
 * Called by schedule.c. Higher partitions come first; else the order is the caller's. A set takes the turn of its last
 * member, so that none of its members passes a step that it does not pass alone. */
#include "jobmgr/schedule/schedule_unit.h"

#include <stdlib.h>
#include <string.h>

struct turn {
	size_t pending;
	int priority; /* of its partition */
	size_t set;   /* where its set begins in `by_set`; SIZE_MAX: it is alone */
};

struct gathered {
	int64_t job;
	int set;
	size_t turn, pending;
	size_t count, seen; /* of the whole set, where it begins */
};

struct schedule_units_in_turn {
	const struct schedule_cluster *cluster;
	struct schedule_requests *requests;
	struct turn *turn;
	size_t count, next;
	struct gathered *by_set;
	size_t gathered;
	struct schedule_unit alone;
	struct schedule_member member;
	size_t order;
};

static int by_priority(const void *a, const void *b)
{
	const struct turn *x = a, *y = b;
	if (x->priority != y->priority)
		return x->priority > y->priority ? -1 : 1;
	return (x->pending > y->pending) - (x->pending < y->pending);
}

static int by_set(const void *a, const void *b)
{
	const struct gathered *x = a, *y = b;
	if (x->job != y->job)
		return x->job < y->job ? -1 : 1;
	if (x->set != y->set)
		return x->set < y->set ? -1 : 1;
	return (x->turn > y->turn) - (x->turn < y->turn);
}

static void units_turns(struct schedule_units_in_turn *units)
{
	const struct schedule_snapshot *s = units->cluster->snapshot;
	units->turn = schedule_arena_take(units->cluster->arena, s->pending_count, sizeof *units->turn);
	for (size_t i = 0; i < s->pending_count; i++) {
		int partition = schedule_cluster_partition(units->cluster, s->pending[i].partition);
		units->turn[i] = (struct turn){i, partition < 0 ? 0 : s->partitions[partition].priority, SIZE_MAX};
	}
	units->count = s->pending_count;
	if (units->count)
		qsort(units->turn, units->count, sizeof *units->turn, by_priority);
}

static void units_gather(struct schedule_units_in_turn *units)
{
	const struct schedule_snapshot *s = units->cluster->snapshot;
	units->by_set = schedule_arena_take(units->cluster->arena, s->pending_count, sizeof *units->by_set);
	for (size_t i = 0; i < units->count; i++) {
		const struct schedule_pending *step = &s->pending[units->turn[i].pending];
		if (step->with_count > 0)
			units->by_set[units->gathered++] =
				(struct gathered){step->job, step->with_set, i, units->turn[i].pending, 0, 0};
	}
	if (units->gathered)
		qsort(units->by_set, units->gathered, sizeof *units->by_set, by_set);
	for (size_t i = 0, first = 0; i < units->gathered; i++) {
		if (units->by_set[i].job != units->by_set[first].job || units->by_set[i].set != units->by_set[first].set)
			first = i;
		units->by_set[first].count++;
		units->turn[units->by_set[i].turn].set = first;
	}
}

struct schedule_units_in_turn *schedule_units_new(const struct schedule_cluster *cluster, struct schedule_requests *requests)
{
	struct schedule_units_in_turn *units = schedule_arena_take(cluster->arena, 1, sizeof *units);
	units->cluster = cluster;
	units->requests = requests;
	units->alone = (struct schedule_unit){.member = &units->member, .count = 1, .order = &units->order};
	units_turns(units);
	units_gather(units);
	return units;
}

int schedule_unit_elements(const struct schedule_member *member)
{
	const struct schedule_pending *step = member->step;
	int left = step->array_size - member->position;
	for (size_t i = member->skip; i < step->array_skip_count; i++)
		left -= step->array_skip[i] >= member->position && step->array_skip[i] < step->array_size;
	return left > 0 ? left : 0;
}

static struct schedule_member units_member(struct schedule_units_in_turn *units, size_t pending)
{
	const struct schedule_pending *step = &units->cluster->snapshot->pending[pending];
	struct schedule_member member = {.pending = pending, .step = step, .position = -1, .elements = 1};
	member.request = schedule_request_of(units->requests, step);
	if (step->array_size > 0) {
		member.position = step->array_next > 0 ? step->array_next : 0;
		schedule_set_position(&member);
		if (step->with_count > 0)
			member.elements = schedule_unit_elements(&member);
	}
	return member;
}

static struct schedule_unit *units_set(struct schedule_units_in_turn *units, const struct gathered *first)
{
	struct schedule_arena *arena = units->cluster->arena;
	struct schedule_unit *unit = schedule_arena_take(arena, 1, sizeof *unit);
	unit->count = first->count;
	unit->member = schedule_arena_take(arena, unit->count, sizeof *unit->member);
	for (size_t i = 0; i < unit->count; i++)
		unit->member[i] = units_member(units, first[i].pending);
	schedule_set_order(units->cluster, unit);
	return unit;
}

struct schedule_unit *schedule_units_next(struct schedule_units_in_turn *units)
{
	while (units->next < units->count) {
		const struct turn *turn = &units->turn[units->next++];
		if (turn->set == SIZE_MAX) {
			units->member = units_member(units, turn->pending);
			return &units->alone;
		}
		struct gathered *first = &units->by_set[turn->set];
		if (++first->seen == first->count)
			return units_set(units, first);
	}
	return NULL;
}

int schedule_unit_lacks(const struct schedule_unit *unit)
{
	int wanted = 0;
	for (size_t i = 0; i < unit->count; i++)
		wanted = unit->member[i].step->with_count > wanted ? unit->member[i].step->with_count : wanted;
	return wanted > (int)unit->count ? wanted - (int)unit->count : 0;
}
