/* schedule_victims.c - estimates for each node which candidates make room there for a step, by CPUs and memory alone.
 *
 * Called by: schedule_preempt.c, for each step that may preempt.
 * Invariants:
 *  - The order decides only which sets are tried first. The scheduler decides whether a set makes room.
 *  - For each node, a small set of candidates that makes room is listed first, and among equal ones the one that loses less
 *    work. */
#include "jobmgr/schedule/schedule_victims.h"

#include <math.h>
#include <stdlib.h>

/* The resources that a candidate holds on one node. */
struct holder {
	int node_id;
	struct schedule_victim *victim;
	int cpus;
	int64_t mem_mb;
	bool chosen;
};

/* The candidates on one node, and those of them that would make room there. */
struct room {
	size_t node; /* index of the node in the snapshot */
	struct holder *holders;
	size_t count;
	struct holder **chosen; /* chosen holders of resources, in the order of choice */
	size_t chosen_count;
	bool fits;
	/* number of chosen holders, and CPU seconds that they lose; a holder on several nodes counts as its part on this node */
	double size, lost;
};

static int compare_holders(const void *a, const void *b)
{
	const struct holder *x = a, *y = b;
	if (x->node_id != y->node_id)
		return x->node_id < y->node_id ? -1 : 1;
	return (x->victim > y->victim) - (x->victim < y->victim);
}

static int compare_rooms(const void *a, const void *b)
{
	const struct room *x = a, *y = b;
	if (x->fits != y->fits)
		return x->fits ? -1 : 1;
	if (x->size != y->size)
		return x->size < y->size ? -1 : 1;
	if (x->lost != y->lost)
		return x->lost < y->lost ? -1 : 1;
	return (x->node > y->node) - (x->node < y->node);
}

/* Estimate the CPUs and memory that a step needs on one node. The scheduler may spread the tasks of the step otherwise. */
static void step_need(const struct schedule_pending *p, const struct schedule_node *node, int *cpus, int64_t *mem_mb)
{
	int nodes = p->nodes_min > 1 ? p->nodes_min : 1, tasks = p->ntasks > nodes ? p->ntasks : nodes;
	int here = (tasks + nodes - 1) / nodes;
	if (p->ntasks_per_node > 0 && here > p->ntasks_per_node)
		here = p->ntasks_per_node;
	*cpus = here * (p->cpus_per_task > 0 ? p->cpus_per_task : 1);
	if (p->exclusive || *cpus > node->cpus)
		*cpus = node->cpus;
	*mem_mb = p->exclusive || p->mem_mb < 0 ? node->mem_mb : p->mem_mb > 0 ? p->mem_mb : p->mem_per_cpu_mb * *cpus;
}

/* Returns the part of the missing resources that a holder would free: 0 to 1 for CPUs, plus 0 to 1 for memory. */
static double holder_part(const struct holder *holder, int cpus, int64_t mem_mb)
{
	double part = 0;
	if (cpus > 0)
		part += fmin(holder->cpus, cpus) / cpus;
	if (mem_mb > 0)
		part += fmin((double)holder->mem_mb, (double)mem_mb) / (double)mem_mb;
	return part;
}

/* Choose holders of a node until they free the missing CPUs and memory: each time the holder that frees the largest part, among
 * equal ones the one that loses least. `nodes`: number of nodes that the step needs. */
static void room_choose(struct room *room, int cpus, int64_t mem_mb, int nodes)
{
	while (cpus > 0 || mem_mb > 0) {
		struct holder *best = NULL;
		double best_part = 0;
		for (size_t i = 0; i < room->count; i++) {
			struct holder *holder = &room->holders[i];
			double part = holder->chosen ? 0 : holder_part(holder, cpus, mem_mb);
			if (part > best_part || (best && part == best_part && holder->victim->lost < best->victim->lost)) {
				best = holder;
				best_part = part;
			}
		}
		if (!best)
			return;
		best->chosen = true;
		room->chosen[room->chosen_count++] = best;
		double parts = fmin((double)best->victim->row_count, nodes);
		room->size += 1 / parts;
		room->lost += best->victim->lost / parts;
		cpus -= best->cpus;
		mem_mb -= best->mem_mb;
	}
	room->fits = true;
}

/* Fill `holders` with all rows of the victims of tier `level` or below that are not taken, in the order of nodes. Returns their
 * number. */
static size_t holders_list(const struct schedule_snapshot *s, struct schedule_victim *victims, size_t count, int level,
			   struct holder *holders)
{
	size_t found = 0;
	for (size_t i = 0; i < count; i++) {
		victims[i].listed = false;
		if (victims[i].taken || victims[i].candidate->tier > level)
			continue;
		for (size_t k = 0; k < victims[i].row_count; k++) {
			const struct schedule_running *row = &s->running[victims[i].rows[k]];
			int64_t mem_mb = victims[i].candidate->suspends ? 0 : row->mem_mb;
			holders[found++] = (struct holder){row->node_id, &victims[i], row->cpus, mem_mb, false};
		}
	}
	if (found)
		qsort(holders, found, sizeof *holders, compare_holders);
	return found;
}

/* Fill `rooms` with one room for each node of the holders, with the chosen holders, best room first. Returns their number. */
static size_t rooms_list(struct schedule_arena *arena, const struct schedule_snapshot *s, const struct schedule_pending *step,
			 struct holder *holders, size_t count, struct room *rooms)
{
	size_t found = 0;
	for (size_t from = 0, to; from < count; from = to) {
		for (to = from; to < count && holders[to].node_id == holders[from].node_id; to++)
			;
		const struct schedule_node *node = schedule_snapshot_node(s, holders[from].node_id);
		if (!node)
			continue;
		struct room *room = &rooms[found];
		*room = (struct room){.node = (size_t)(node - s->nodes), .holders = &holders[from], .count = to - from};
		int cpus;
		int64_t mem_mb;
		step_need(step, node, &cpus, &mem_mb);
		room->chosen = schedule_arena_take(arena, room->count, sizeof *room->chosen);
		room_choose(room, cpus - (node->cpus - node->cpus_used), mem_mb - (node->mem_mb - node->mem_used_mb),
			    step->nodes_min > 1 ? step->nodes_min : 1);
		found++;
	}
	if (found)
		qsort(rooms, found, sizeof *rooms, compare_rooms);
	return found;
}

static void list_add(struct schedule_victim **list, size_t *count, struct schedule_victim *victim)
{
	if (victim->listed)
		return;
	victim->listed = true;
	list[(*count)++] = victim;
}

size_t schedule_victims_order(struct schedule_arena *arena, const struct schedule_snapshot *s,
			      const struct schedule_pending *step, struct schedule_victim *victims, size_t count, int level,
			      struct schedule_victim **list, size_t *size)
{
	size_t rows = 0, listed = 0;
	for (size_t i = 0; i < count; i++)
		rows += victims[i].row_count;
	struct holder *holders = schedule_arena_take(arena, rows, sizeof *holders);
	struct room *rooms = schedule_arena_take(arena, rows, sizeof *rooms);
	size_t holder_count = holders_list(s, victims, count, level, holders);
	size_t room_count = rooms_list(arena, s, step, holders, holder_count, rooms);
	*size = 0;
	for (size_t i = 0; i < room_count; i++) {
		for (size_t k = 0; k < rooms[i].chosen_count; k++)
			list_add(list, &listed, rooms[i].chosen[k]->victim);
		if (!*size)
			*size = listed;
	}
	for (size_t i = 0; i < holder_count; i++)
		list_add(list, &listed, holders[i].victim);
	return listed;
}
