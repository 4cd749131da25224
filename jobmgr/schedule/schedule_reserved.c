/* schedule_reserved.c - indexes reserved allocations by the step that they are reserved for.
 *
 * Called by: schedule.c once at the start; placements take reserved resources before free ones. */
#include "jobmgr/schedule/schedule_reserved.h"

#include <stdlib.h>
#include <string.h>

struct successor {
	int64_t job;
	int step;
	struct schedule_reserved *reserved;
};

struct schedule_reserved_index {
	struct successor *successor; /* steps with reserved resources, ascending by job and step */
	size_t count;
};

static int compare_steps(const void *a, const void *b)
{
	const struct successor *x = a, *y = b;
	int order = (x->job > y->job) - (x->job < y->job);
	return order ? order : (x->step > y->step) - (x->step < y->step);
}

static int compare_ints(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;
	return (x > y) - (x < y);
}

static struct successor *index_find(const struct schedule_reserved_index *index, int64_t job, int step)
{
	const struct successor wanted = {.job = job, .step = step};
	return index->count ? bsearch(&wanted, index->successor, index->count, sizeof wanted, compare_steps) : NULL;
}

struct schedule_reserved *schedule_reserved_for(const struct schedule_reserved_index *index, int64_t job, int step)
{
	const struct successor *successor = index_find(index, job, step);
	return successor ? successor->reserved : NULL;
}

/* Returns the resources reserved for a step on a node. A missing entry is created. */
static struct schedule_reserved *successor_node(const struct schedule_cluster *c, struct successor *successor, int node_index)
{
	for (struct schedule_reserved *reserved = successor->reserved; reserved; reserved = reserved->next)
		if (reserved->node_index == node_index)
			return reserved;
	struct schedule_reserved *reserved = schedule_arena_take(c->arena, 1, sizeof *reserved);
	reserved->node_index = node_index;
	reserved->amount = schedule_cluster_amounts(c);
	reserved->pool = schedule_arena_take(c->arena, c->gres.count, sizeof *reserved->pool);
	reserved->next = successor->reserved;
	return successor->reserved = reserved;
}

static void reserved_add_devices(const struct schedule_cluster *c, struct schedule_reserved *reserved,
				 const struct schedule_devices *devices)
{
	int kind = schedule_names_find(&c->gres, devices->name);
	if (kind < 0 || !devices->count)
		return;
	struct schedule_pool *pool = &reserved->pool[kind];
	int *device = schedule_arena_take(c->arena, pool->count + devices->count, sizeof *device);
	if (pool->count)
		memcpy(device, pool->device, pool->count * sizeof *device);
	memcpy(device + pool->count, devices->device, devices->count * sizeof *device);
	pool->device = device;
	pool->count += devices->count;
	qsort(pool->device, pool->count, sizeof *device, compare_ints);
	reserved->amount[SCHEDULE_FIRST_GRES + kind] += (int64_t)devices->count;
}

static void successor_add_row(const struct schedule_cluster *c, struct successor *successor, const struct schedule_running *row)
{
	int node_index = schedule_cluster_by_id(c, row->node_id);
	if (node_index >= 0) {
		struct schedule_reserved *reserved = successor_node(c, successor, node_index);
		reserved->amount[SCHEDULE_CPUS] += row->cpus;
		reserved->amount[SCHEDULE_MEM] += row->mem_mb;
		for (size_t i = 0; i < row->gres_count; i++)
			reserved_add_devices(c, reserved, &row->gres[i]);
	}
	for (size_t i = 0; i < row->license_count; i++) {
		int kind = schedule_names_find(&c->licenses, row->licenses[i].name);
		if (kind >= 0)
			successor_node(c, successor, (int)c->nodes)->amount[kind] += row->licenses[i].count;
	}
}

/* Index all pending steps; those without reserved resources are removed later. */
static void index_candidates(struct schedule_reserved_index *index, const struct schedule_cluster *c)
{
	const struct schedule_snapshot *s = c->snapshot;
	index->successor = schedule_arena_take(c->arena, s->pending_count, sizeof *index->successor);
	for (size_t i = 0; i < s->pending_count; i++)
		index->successor[i] = (struct successor){.job = s->pending[i].job, .step = s->pending[i].step};
	index->count = s->pending_count;
	if (index->count)
		qsort(index->successor, index->count, sizeof *index->successor, compare_steps);
}

struct schedule_reserved_index *schedule_reserved_index_new(const struct schedule_cluster *cluster)
{
	const struct schedule_snapshot *s = cluster->snapshot;
	struct schedule_reserved_index *index = schedule_arena_take(cluster->arena, 1, sizeof *index);
	for (size_t i = 0; i < s->running_count; i++) {
		const struct schedule_running *row = &s->running[i];
		if (!row->reserved)
			continue;
		if (!index->successor)
			index_candidates(index, cluster);
		struct successor *successor = index_find(index, row->job, row->reserved_for);
		if (successor)
			successor_add_row(cluster, successor, row);
	}
	size_t count = 0;
	for (size_t i = 0; i < index->count; i++)
		if (index->successor[i].reserved)
			index->successor[count++] = index->successor[i];
	index->count = count;
	return index;
}

static struct schedule_reserved *reserved_at(const struct schedule_reserved *reserved, int node_index)
{
	while (reserved && reserved->node_index != node_index)
		reserved = reserved->next;
	return (struct schedule_reserved *)reserved;
}

int64_t schedule_reserved_amount(const struct schedule_reserved *reserved, int node_index, size_t kind)
{
	const struct schedule_reserved *here = reserved_at(reserved, node_index);
	return here ? here->amount[kind] : 0;
}

void schedule_reserved_draw(const struct schedule_cluster *cluster, struct schedule_reserved *reserved, int node_index,
			    const int64_t *need, int64_t *draw)
{
	struct schedule_reserved *here = reserved_at(reserved, node_index);
	for (size_t k = 0; k < cluster->kinds; k++) {
		int64_t from = here && here->amount[k] < need[k] ? here->amount[k] : here ? need[k] : 0;
		draw[k] = need[k] - from;
		if (here)
			here->amount[k] -= from;
	}
}

void schedule_reserved_return(const struct schedule_cluster *cluster, struct schedule_reserved *reserved, int node_index,
			      const int64_t *need, const int64_t *draw)
{
	struct schedule_reserved *here = reserved_at(reserved, node_index);
	for (size_t k = 0; here && k < cluster->kinds; k++)
		here->amount[k] += need[k] - draw[k];
}
