/* schedule_gang.c - turns the pending steps into a queue of gangs, and orders the members of each gang for placement.
 *
 * Called by: schedule.c.
 * Invariants:
 *  - Partitions of higher priority come first; within equal priority the order is that of the snapshot.
 *  - A gang takes the turn of its last member, so no member overtakes a step that it would not overtake alone.
 *  - Members that share nodes (--same-nodes) have one root, which is placed first, on nodes that suffice for all of them. Of the
 *    other members the one with the fewest usable nodes goes first, then the one that needs the most CPUs. */
#include "jobmgr/schedule/schedule_gang.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "jobmgr/schedule/schedule_bits.h"

bool schedule_gang_next_position(struct schedule_member *member)
{
	const struct schedule_pending *step = member->step;
	while (member->skip < step->array_skip_count && step->array_skip[member->skip] <= member->position)
		member->position += step->array_skip[member->skip++] == member->position;
	return member->position < step->array_size;
}

void schedule_gang_set_time_limits(struct schedule_gang *gang, bool full)
{
	for (size_t i = 0; i < gang->count; i++)
		gang->member[i].seconds = full ? gang->member[i].request->full_s : gang->member[i].request->least_s;
}

/* Part 1: the order of placement within a gang. */

static bool members_share_nodes(const struct schedule_pending *a, const struct schedule_pending *b)
{
	for (size_t i = 0; i < a->same_as_count; i++)
		if (a->same_as[i] == b->step)
			return true;
	for (size_t i = 0; i < b->same_as_count; i++)
		if (b->same_as[i] == a->step)
			return true;
	return false;
}

/* Set the roots of members that share nodes, directly or through other members: the root is the member with the lowest index. */
static void order_find_roots(struct schedule_gang *gang)
{
	bool changed = false;
	for (size_t i = 0; i < gang->count; i++) {
		gang->member[i].root = i;
		changed |= gang->member[i].step->same_as_count > 0;
	}
	while (changed) {
		changed = false;
		for (size_t i = 0; i < gang->count; i++) {
			for (size_t k = 0; k < gang->count; k++) {
				struct schedule_member *a = &gang->member[i], *b = &gang->member[k];
				if (a->root >= b->root || !members_share_nodes(a->step, b->step))
					continue;
				b->root = a->root;
				changed = true;
			}
		}
	}
}

/* If a member must use the nodes of a step outside the gang, make it the root of all members on the same nodes. */
static void order_move_roots(struct schedule_gang *gang)
{
	for (size_t i = 0; i < gang->count; i++) {
		size_t root = gang->member[i].root;
		if (root == i || !gang->member[i].request->forced || gang->member[root].request->forced)
			continue;
		for (size_t k = 0; k < gang->count; k++)
			if (gang->member[k].root == root)
				gang->member[k].root = i;
	}
}

/* Add to `extra` the amounts that a member needs on each of `nodes` nodes, if its tasks are spread evenly. */
static void order_add_need(const struct schedule_cluster *c, const struct schedule_member *member, int nodes, int64_t *extra)
{
	int64_t need[c->kinds];
	schedule_request_need(c, member->request, 0, (member->request->ntasks + nodes - 1) / nodes, need);
	for (size_t k = 0; k < SCHEDULE_FIRST_GRES + c->gres.count; k++)
		extra[k] += need[k] * member->elements;
}

/* Can tasks of the members of a root share slots? Each of these must be a single step or element, which takes neither whole
 * nodes nor all memory of a node. */
static bool order_has_slots(const struct schedule_gang *gang, size_t root)
{
	for (size_t i = 0; i < gang->count; i++) {
		const struct schedule_member *m = &gang->member[i];
		if (m->root == root && (m->elements != 1 || m->request->exclusive || m->request->whole_memory))
			return false;
	}
	return true;
}

/* Make the request for slots of a root: each slot takes one task of every member on the same nodes. */
static void order_join_slots(const struct schedule_cluster *c, struct schedule_gang *gang, size_t root)
{
	struct schedule_member *r = &gang->member[root];
	int64_t cpus = 0, mem = 0, *extra = schedule_cluster_amounts(c);
	struct schedule_request *slots = schedule_arena_take(c->arena, 1, sizeof *slots);
	*slots = *r->joint;
	for (size_t i = 0; i < gang->count; i++) {
		const struct schedule_request *one = gang->member[i].request;
		if (gang->member[i].root != root)
			continue;
		slots->ntasks = slots->ntasks > one->ntasks ? slots->ntasks : one->ntasks;
		slots->nodes_max = slots->nodes_max < one->ntasks ? slots->nodes_max : one->ntasks;
		slots->tasks_per_node = slots->tasks_per_node < one->tasks_per_node ? slots->tasks_per_node : one->tasks_per_node;
		cpus += one->cpus_per_task;
		mem += one->mem_mb ? 0 : one->mem_per_cpu_mb * one->cpus_per_task;
		extra[SCHEDULE_MEM] += one->mem_mb;
		for (size_t k = 0; i != root && k < one->gres_count; k++)
			extra[one->gres[k].kind] += one->gres[k].count;
	}
	if (cpus > INT_MAX)
		return;
	slots->cpus_per_task = (int)cpus;
	slots->mem_mb = 0;
	slots->mem_per_cpu_mb = (mem + cpus - 1) / cpus;
	r->slots = slots;
	r->slots_extra = extra;
}

static void order_join_requests(const struct schedule_cluster *c, struct schedule_gang *gang, size_t root)
{
	struct schedule_member *r = &gang->member[root];
	int64_t *extra = schedule_cluster_amounts(c);
	r->joint = schedule_arena_take(c->arena, 1, sizeof *r->joint);
	*r->joint = *r->request;
	r->joint->mask = schedule_cluster_bits(c);
	memcpy(r->joint->mask, r->request->mask, c->words * sizeof *r->joint->mask);
	for (size_t i = 0; i < gang->count; i++) {
		const struct schedule_request *other = gang->member[i].request;
		if (gang->member[i].root != root)
			continue;
		for (size_t w = 0; w < c->words; w++)
			r->joint->mask[w] &= other->mask[w];
		r->joint->nodes_min = r->joint->nodes_min > other->nodes_min ? r->joint->nodes_min : other->nodes_min;
		r->joint->nodes_max = r->joint->nodes_max < other->nodes_max ? r->joint->nodes_max : other->nodes_max;
	}
	if (r->joint->ntasks < r->joint->nodes_min)
		r->joint->ntasks = r->joint->nodes_min;
	for (size_t i = 0; i < gang->count; i++)
		if (i != root && gang->member[i].root == root)
			order_add_need(c, &gang->member[i], r->joint->nodes_min, extra);
	r->extra = extra;
	if (order_has_slots(gang, root))
		order_join_slots(c, gang, root);
}

struct rank {
	size_t member, usable;
	bool follows;
	int64_t cpus;
};

static int compare_ranks(const void *a, const void *b)
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

static struct rank order_rank(const struct schedule_cluster *c, const struct schedule_gang *gang, size_t member)
{
	const struct schedule_member *m = &gang->member[member];
	const struct schedule_request *request = m->joint ? m->joint : m->request;
	return (struct rank){.member = member,
			     .usable = schedule_bits_count(request->mask, c->words),
			     .follows = m->root != member,
			     .cpus = request->exclusive ? INT64_MAX : (int64_t)request->ntasks * request->cpus_per_task};
}

/* Set the order in which the members are placed. */
static void order_members(const struct schedule_cluster *cluster, struct schedule_gang *gang)
{
	struct rank *rank = schedule_arena_take(cluster->arena, gang->count, sizeof *rank);
	gang->order = schedule_arena_take(cluster->arena, gang->count, sizeof *gang->order);
	order_find_roots(gang);
	order_move_roots(gang);
	for (size_t i = 0; i < gang->count; i++)
		if (gang->member[i].root != i && !gang->member[gang->member[i].root].joint)
			order_join_requests(cluster, gang, gang->member[i].root);
	for (size_t i = 0; i < gang->count; i++)
		rank[i] = order_rank(cluster, gang, i);
	qsort(rank, gang->count, sizeof *rank, compare_ranks);
	for (size_t i = 0; i < gang->count; i++)
		gang->order[i] = rank[i].member;
}

/* Part 2: the queue of gangs. */

struct turn {
	size_t pending;
	int priority; /* priority of the step's partition */
	size_t gang;  /* index of the gang's first entry in gang_members; SIZE_MAX: a single step */
};

struct gang_member {
	int64_t job;
	int set;
	size_t turn, pending;
	/* in the first entry of a gang: number of members of the gang, and of those seen in the queue so far */
	size_t count, seen;
};

struct schedule_gang_queue {
	const struct schedule_cluster *cluster;
	struct schedule_requests *requests;
	struct turn *turn;
	size_t count, next;
	struct gang_member *gang_members;
	size_t gang_member_count;
	struct schedule_gang single;
	struct schedule_member member;
	size_t order;
};

static int compare_turns(const void *a, const void *b)
{
	const struct turn *x = a, *y = b;
	if (x->priority != y->priority)
		return x->priority > y->priority ? -1 : 1;
	return (x->pending > y->pending) - (x->pending < y->pending);
}

static int compare_members(const void *a, const void *b)
{
	const struct gang_member *x = a, *y = b;
	if (x->job != y->job)
		return x->job < y->job ? -1 : 1;
	if (x->set != y->set)
		return x->set < y->set ? -1 : 1;
	return (x->turn > y->turn) - (x->turn < y->turn);
}

static void queue_sort(struct schedule_gang_queue *queue)
{
	const struct schedule_snapshot *s = queue->cluster->snapshot;
	queue->turn = schedule_arena_take(queue->cluster->arena, s->pending_count, sizeof *queue->turn);
	for (size_t i = 0; i < s->pending_count; i++) {
		int partition = schedule_cluster_partition(queue->cluster, s->pending[i].partition);
		queue->turn[i] = (struct turn){i, partition < 0 ? 0 : s->partitions[partition].priority, SIZE_MAX};
	}
	queue->count = s->pending_count;
	if (queue->count)
		qsort(queue->turn, queue->count, sizeof *queue->turn, compare_turns);
}

static void queue_gather(struct schedule_gang_queue *queue)
{
	const struct schedule_snapshot *s = queue->cluster->snapshot;
	queue->gang_members = schedule_arena_take(queue->cluster->arena, s->pending_count, sizeof *queue->gang_members);
	for (size_t i = 0; i < queue->count; i++) {
		const struct schedule_pending *step = &s->pending[queue->turn[i].pending];
		if (step->with_count > 0)
			queue->gang_members[queue->gang_member_count++] =
				(struct gang_member){step->job, step->with_set, i, queue->turn[i].pending, 0, 0};
	}
	if (queue->gang_member_count)
		qsort(queue->gang_members, queue->gang_member_count, sizeof *queue->gang_members, compare_members);
	for (size_t i = 0, first = 0; i < queue->gang_member_count; i++) {
		if (queue->gang_members[i].job != queue->gang_members[first].job ||
		    queue->gang_members[i].set != queue->gang_members[first].set)
			first = i;
		queue->gang_members[first].count++;
		queue->turn[queue->gang_members[i].turn].gang = first;
	}
}

struct schedule_gang_queue *schedule_gang_queue_new(const struct schedule_cluster *cluster, struct schedule_requests *requests)
{
	struct schedule_gang_queue *queue = schedule_arena_take(cluster->arena, 1, sizeof *queue);
	queue->cluster = cluster;
	queue->requests = requests;
	queue->single = (struct schedule_gang){.member = &queue->member, .count = 1, .order = &queue->order};
	queue_sort(queue);
	queue_gather(queue);
	return queue;
}

int schedule_gang_count_elements(const struct schedule_member *member)
{
	const struct schedule_pending *step = member->step;
	int left = step->array_size - member->position;
	for (size_t i = member->skip; i < step->array_skip_count; i++)
		left -= step->array_skip[i] >= member->position && step->array_skip[i] < step->array_size;
	return left > 0 ? left : 0;
}

static struct schedule_member queue_member(struct schedule_gang_queue *queue, size_t pending)
{
	const struct schedule_pending *step = &queue->cluster->snapshot->pending[pending];
	struct schedule_member member = {.pending = pending, .step = step, .position = -1, .elements = 1};
	member.request = schedule_request_of(queue->requests, step);
	if (step->array_size > 0) {
		member.position = step->array_next > 0 ? step->array_next : 0;
		schedule_gang_next_position(&member);
		if (step->with_count > 0)
			member.elements = schedule_gang_count_elements(&member);
	}
	return member;
}

static struct schedule_gang *queue_gang(struct schedule_gang_queue *queue, const struct gang_member *first)
{
	struct schedule_arena *arena = queue->cluster->arena;
	struct schedule_gang *gang = schedule_arena_take(arena, 1, sizeof *gang);
	gang->count = first->count;
	gang->member = schedule_arena_take(arena, gang->count, sizeof *gang->member);
	for (size_t i = 0; i < gang->count; i++)
		gang->member[i] = queue_member(queue, first[i].pending);
	order_members(queue->cluster, gang);
	return gang;
}

struct schedule_gang *schedule_gang_queue_next(struct schedule_gang_queue *queue)
{
	while (queue->next < queue->count) {
		const struct turn *turn = &queue->turn[queue->next++];
		if (turn->gang == SIZE_MAX) {
			queue->member = queue_member(queue, turn->pending);
			return &queue->single;
		}
		struct gang_member *first = &queue->gang_members[turn->gang];
		if (++first->seen == first->count)
			return queue_gang(queue, first);
	}
	return NULL;
}

int schedule_gang_count_missing(const struct schedule_gang *gang)
{
	int wanted = 0;
	for (size_t i = 0; i < gang->count; i++)
		wanted = gang->member[i].step->with_count > wanted ? gang->member[i].step->with_count : wanted;
	return wanted > (int)gang->count ? wanted - (int)gang->count : 0;
}
