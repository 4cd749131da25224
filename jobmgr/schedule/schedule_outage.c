/* schedule_outage.c - outages, indexed once for a pass, and the question whether a step would run into one.
 *
 * Called by schedule_profile.c at the start of a pass, and by everything that asks where a step fits. There are few outages, each of
 * many nodes, so a question walks over them in the order of time and looks at one bit of each. */
#include "jobmgr/schedule/schedule_outage.h"

#include <stdlib.h>

#include "jobmgr/schedule/schedule_bits.h"

static int by_from(const void *a, const void *b)
{
	const struct schedule_barrier *x = a, *y = b;
	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	return (x->outage > y->outage) - (x->outage < y->outage);
}

static int by_to(const void *a, const void *b)
{
	const struct schedule_barrier *x = *(const struct schedule_barrier *const *)a,
				      *y = *(const struct schedule_barrier *const *)b;
	if (x->to != y->to)
		return x->to < y->to ? -1 : 1;
	return (x > y) - (x < y);
}

/* The nodes of an outage as places; those of the one before where it has none of its own. */
static uint64_t *outage_places(const struct schedule_cluster *c, const struct schedule_outage *outage, uint64_t *before)
{
	if (!outage->node_count && before && outage[-1].id == outage->id)
		return before;
	uint64_t *places = schedule_cluster_bits(c);
	for (size_t i = 0; i < outage->node_count; i++) {
		int place = schedule_cluster_by_id(c, outage->node_ids[i]);
		if (place >= 0)
			schedule_bits_add(places, (size_t)place);
	}
	return places;
}

struct schedule_barriers schedule_outage_index(const struct schedule_cluster *cluster)
{
	const struct schedule_snapshot *s = cluster->snapshot;
	struct schedule_barriers all = {0};
	all.barrier = schedule_arena_take(cluster->arena, s->outage_count, sizeof *all.barrier);
	all.by_to = schedule_arena_take(cluster->arena, s->outage_count, sizeof *all.by_to);
	uint64_t *places = NULL;
	for (size_t i = 0; i < s->outage_count; i++) {
		const struct schedule_outage *outage = &s->outages[i];
		places = outage_places(cluster, outage, places);
		if (outage->to > s->now)
			all.barrier[all.count++] = (struct schedule_barrier){outage->from, outage->to, outage, places};
	}
	if (!all.count)
		return all;
	qsort(all.barrier, all.count, sizeof *all.barrier, by_from);
	for (size_t i = 0; i < all.count; i++)
		all.by_to[i] = &all.barrier[i];
	qsort(all.by_to, all.count, sizeof *all.by_to, by_to);
	return all;
}

static bool outage_admits(const struct schedule_outage *outage, const struct schedule_pending *step)
{
	for (size_t i = 0; i < step->admitted_count; i++)
		if (outage->id && step->admitted[i] == outage->id)
			return true;
	return false;
}

const struct schedule_barrier *schedule_outage_meet(const struct schedule_barriers *barriers, const struct schedule_pending *step,
						    size_t place, double at, double until)
{
	for (size_t i = 0; i < barriers->count && barriers->barrier[i].from < until; i++) {
		const struct schedule_barrier *barrier = &barriers->barrier[i];
		if (barrier->to > at && schedule_bits_has(barrier->places, place) && !outage_admits(barrier->outage, step))
			return barrier;
	}
	return NULL;
}
