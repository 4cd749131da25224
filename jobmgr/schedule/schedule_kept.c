/* schedule_kept.c - kept allocations, by the step they are kept for.
 *
 * Built once a pass; a follower then draws on what is kept for it before it takes what is free. */
#include "jobmgr/schedule/schedule_kept.h"

#include <stdlib.h>
#include <string.h>

struct follower {
	int64_t job;
	int step;
	struct schedule_kept *kept;
};

struct schedule_keeping {
	struct follower *follower; /* ascending; only those that something is kept for */
	size_t count;
};

static int by_step(const void *a, const void *b)
{
	const struct follower *x = a, *y = b;
	int order = (x->job > y->job) - (x->job < y->job);
	return order ? order : (x->step > y->step) - (x->step < y->step);
}

static int by_int(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;
	return (x > y) - (x < y);
}

static struct follower *keeping_find(const struct schedule_keeping *keeping, int64_t job, int step)
{
	const struct follower wanted = {.job = job, .step = step};
	return keeping->count ? bsearch(&wanted, keeping->follower, keeping->count, sizeof wanted, by_step) : NULL;
}

struct schedule_kept *schedule_keeping_for(const struct schedule_keeping *keeping, int64_t job, int step)
{
	const struct follower *follower = keeping_find(keeping, job, step);
	return follower ? follower->kept : NULL;
}

/* The entry of a place, made where it is missing. */
static struct schedule_kept *follower_place(const struct schedule_cluster *c, struct follower *follower, int place)
{
	for (struct schedule_kept *kept = follower->kept; kept; kept = kept->next)
		if (kept->place == place)
			return kept;
	struct schedule_kept *kept = schedule_arena_take(c->arena, 1, sizeof *kept);
	kept->place = place;
	kept->amount = schedule_cluster_amounts(c);
	kept->pool = schedule_arena_take(c->arena, c->gres.count, sizeof *kept->pool);
	kept->next = follower->kept;
	return follower->kept = kept;
}

static void kept_units(const struct schedule_cluster *c, struct schedule_kept *kept, const struct schedule_units *units)
{
	int kind = schedule_names_find(&c->gres, units->name);
	if (kind < 0 || !units->count)
		return;
	struct schedule_pool *pool = &kept->pool[kind];
	int *unit = schedule_arena_take(c->arena, pool->count + units->count, sizeof *unit);
	if (pool->count)
		memcpy(unit, pool->unit, pool->count * sizeof *unit);
	memcpy(unit + pool->count, units->unit, units->count * sizeof *unit);
	pool->unit = unit;
	pool->count += units->count;
	qsort(pool->unit, pool->count, sizeof *unit, by_int);
	kept->amount[SCHEDULE_FIRST_GRES + kind] += (int64_t)units->count;
}

static void follower_add(const struct schedule_cluster *c, struct follower *follower, const struct schedule_running *row)
{
	int place = schedule_cluster_by_id(c, row->node_id);
	if (place >= 0) {
		struct schedule_kept *kept = follower_place(c, follower, place);
		kept->amount[SCHEDULE_CPUS] += row->cpus;
		kept->amount[SCHEDULE_MEM] += row->mem_mb;
		for (size_t i = 0; i < row->gres_count; i++)
			kept_units(c, kept, &row->gres[i]);
	}
	for (size_t i = 0; i < row->license_count; i++) {
		int kind = schedule_names_find(&c->licenses, row->licenses[i].name);
		if (kind >= 0)
			follower_place(c, follower, (int)c->nodes)->amount[kind] += row->licenses[i].count;
	}
}

/* The pending steps, as followers that may turn out to have nothing kept. */
static void keeping_candidates(struct schedule_keeping *keeping, const struct schedule_cluster *c)
{
	const struct schedule_snapshot *s = c->snapshot;
	keeping->follower = schedule_arena_take(c->arena, s->pending_count, sizeof *keeping->follower);
	for (size_t i = 0; i < s->pending_count; i++)
		keeping->follower[i] = (struct follower){.job = s->pending[i].job, .step = s->pending[i].step};
	keeping->count = s->pending_count;
	if (keeping->count)
		qsort(keeping->follower, keeping->count, sizeof *keeping->follower, by_step);
}

struct schedule_keeping *schedule_keeping_new(const struct schedule_cluster *cluster)
{
	const struct schedule_snapshot *s = cluster->snapshot;
	struct schedule_keeping *keeping = schedule_arena_take(cluster->arena, 1, sizeof *keeping);
	for (size_t i = 0; i < s->running_count; i++) {
		const struct schedule_running *row = &s->running[i];
		if (!row->kept)
			continue;
		if (!keeping->follower)
			keeping_candidates(keeping, cluster);
		struct follower *follower = keeping_find(keeping, row->job, row->kept_for);
		if (follower)
			follower_add(cluster, follower, row);
	}
	size_t count = 0;
	for (size_t i = 0; i < keeping->count; i++)
		if (keeping->follower[i].kept)
			keeping->follower[count++] = keeping->follower[i];
	keeping->count = count;
	return keeping;
}

static struct schedule_kept *kept_at(const struct schedule_kept *kept, int place)
{
	while (kept && kept->place != place)
		kept = kept->next;
	return (struct schedule_kept *)kept;
}

int64_t schedule_kept_amount(const struct schedule_kept *kept, int place, size_t kind)
{
	const struct schedule_kept *here = kept_at(kept, place);
	return here ? here->amount[kind] : 0;
}

void schedule_kept_draw(const struct schedule_cluster *cluster, struct schedule_kept *kept, int place, const int64_t *need,
			int64_t *draw)
{
	struct schedule_kept *here = kept_at(kept, place);
	for (size_t k = 0; k < cluster->kinds; k++) {
		int64_t from = here && here->amount[k] < need[k] ? here->amount[k] : here ? need[k] : 0;
		draw[k] = need[k] - from;
		if (here)
			here->amount[k] -= from;
	}
}

void schedule_kept_return(const struct schedule_cluster *cluster, struct schedule_kept *kept, int place, const int64_t *need,
			  const int64_t *draw)
{
	struct schedule_kept *here = kept_at(kept, place);
	for (size_t k = 0; here && k < cluster->kinds; k++)
		here->amount[k] += need[k] - draw[k];
}
