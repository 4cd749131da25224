/* schedule_order.c - in which order the members of a `with` set are placed.
 *
 * Called once for each unit. Members that share nodes (--same-nodes) follow the one of them that is placed first, their
 * root; the root is placed for all of them: on nodes that all may use, with room for all. Of the rest, the one with the
 * fewest nodes to choose from goes first, then the one that needs most. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "jobmgr/schedule/schedule_bits.h"
#include "jobmgr/schedule/schedule_set.h"

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

void schedule_set_order(const struct schedule_cluster *cluster, struct schedule_unit *unit)
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
