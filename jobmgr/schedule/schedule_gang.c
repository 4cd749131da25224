/* schedule_unit.c - orders the pending steps and gathers the members of `with` sets.
 *
 * Called by schedule.c. Higher partitions come first; else the order is the caller's. A set takes the turn of its last
 * member, so that none of its members passes a step that it does not pass alone. */
#include "jobmgr/schedule/schedule_gang.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "jobmgr/schedule/schedule_bits.h"

bool schedule_gang_position(struct schedule_member *member)
{
	const struct schedule_pending *step = member->step;
	while (member->skip < step->array_skip_count && step->array_skip[member->skip] <= member->position)
		member->position += step->array_skip[member->skip++] == member->position;
	return member->position < step->array_size;
}

/* the order in which the members of a `with` set are placed */

static bool shares(const struct schedule_pending *a, const struct schedule_pending *b)
{
	for (size_t i = 0; i < a->same_as_count; i++)
		if (a->same_as[i] == b->step)
			return true;
	for (size_t i = 0; i < b->same_as_count; i++)
		if (b->same_as[i] == a->step)
			return true;
	return false;
}

/* Members that share nodes, directly or through others, get the lowest index among them as root. */
static void order_group(struct schedule_unit *unit)
{
	bool changed = false;
	for (size_t i = 0; i < unit->count; i++) {
		unit->member[i].root = i;
		changed |= unit->member[i].step->same_as_count > 0;
	}
	while (changed) {
		changed = false;
		for (size_t i = 0; i < unit->count; i++) {
			for (size_t k = 0; k < unit->count; k++) {
				struct schedule_member *a = &unit->member[i], *b = &unit->member[k];
				if (a->root >= b->root || !shares(a->step, b->step))
					continue;
				b->root = a->root;
				changed = true;
			}
		}
	}
}

/* A member bound to nodes from outside the set leads its group. */
static void order_lead(struct schedule_unit *unit)
{
	for (size_t i = 0; i < unit->count; i++) {
		size_t root = unit->member[i].root;
		if (root == i || !unit->member[i].request->forced || unit->member[root].request->forced)
			continue;
		for (size_t k = 0; k < unit->count; k++)
			if (unit->member[k].root == root)
				unit->member[k].root = i;
	}
}

/* What a member needs on each of so many nodes, when its tasks are spread as evenly as they can be. */
static void order_share(const struct schedule_cluster *c, const struct schedule_member *member, int nodes, int64_t *extra)
{
	int64_t need[c->kinds];
	schedule_request_need(c, member->request, 0, (member->request->ntasks + nodes - 1) / nodes, need);
	for (size_t k = 0; k < SCHEDULE_FIRST_GRES + c->gres.count; k++)
		extra[k] += need[k] * member->elements;
}

static void order_joint(const struct schedule_cluster *c, struct schedule_unit *unit, size_t root)
{
	struct schedule_member *r = &unit->member[root];
	int64_t *extra = schedule_cluster_amounts(c);
	r->joint = schedule_arena_take(c->arena, 1, sizeof *r->joint);
	*r->joint = *r->request;
	r->joint->mask = schedule_cluster_bits(c);
	memcpy(r->joint->mask, r->request->mask, c->words * sizeof *r->joint->mask);
	for (size_t i = 0; i < unit->count; i++) {
		const struct schedule_request *other = unit->member[i].request;
		if (unit->member[i].root != root)
			continue;
		for (size_t w = 0; w < c->words; w++)
			r->joint->mask[w] &= other->mask[w];
		r->joint->nodes_min = r->joint->nodes_min > other->nodes_min ? r->joint->nodes_min : other->nodes_min;
		r->joint->nodes_max = r->joint->nodes_max < other->nodes_max ? r->joint->nodes_max : other->nodes_max;
	}
	if (r->joint->ntasks < r->joint->nodes_min)
		r->joint->ntasks = r->joint->nodes_min;
	for (size_t i = 0; i < unit->count; i++)
		if (i != root && unit->member[i].root == root)
			order_share(c, &unit->member[i], r->joint->nodes_min, extra);
	r->extra = extra;
}

struct rank {
	size_t member, usable;
	bool follows;
	int64_t cpus;
};

static int by_rank(const void *a, const void *b)
{
	const struct rank *x = a, *y = b;
	if (x->follows != y->follows)
		return x->follows ? 1 : -1;
	if (x->usable != y->usable)
		return x->usable < y->usable ? -1 : 1;
	if (x->cpus != y->cpus)
		return x->cpus > y->cpus ? -1 : 1;
	return x->member < y->member ? -1 : 1;
}

static struct rank order_rank(const struct schedule_cluster *c, const struct schedule_unit *unit, size_t member)
{
	const struct schedule_member *m = &unit->member[member];
	const struct schedule_request *request = m->joint ? m->joint : m->request;
	return (struct rank){.member = member,
			     .usable = schedule_bits_count(request->mask, c->words),
			     .follows = m->root != member,
			     .cpus = request->exclusive ? INT64_MAX : (int64_t)request->ntasks * request->cpus_per_task};
}

/* Work out in which order the members of a unit are best placed. */
static void order_members(const struct schedule_cluster *cluster, struct schedule_unit *unit)
{
	struct rank *rank = schedule_arena_take(cluster->arena, unit->count, sizeof *rank);
	unit->order = schedule_arena_take(cluster->arena, unit->count, sizeof *unit->order);
	order_group(unit);
	order_lead(unit);
	for (size_t i = 0; i < unit->count; i++)
		if (unit->member[i].root != i && !unit->member[unit->member[i].root].joint)
			order_joint(cluster, unit, unit->member[i].root);
	for (size_t i = 0; i < unit->count; i++)
		rank[i] = order_rank(cluster, unit, i);
	qsort(rank, unit->count, sizeof *rank, by_rank);
	for (size_t i = 0; i < unit->count; i++)
		unit->order[i] = rank[i].member;
}

/* the queue */

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
		schedule_gang_position(&member);
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
	order_members(units->cluster, unit);
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
