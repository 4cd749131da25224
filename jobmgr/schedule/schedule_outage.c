/* schedule_outage.c - indexes outages, and finds the outage that a step would run into.
 *
 * Called by: schedule_profile.c at the start; schedule_fit.c and schedule_explain.c.
 * Invariants:
 *  - The list of outages is in the order of their starts. There are few outages with many nodes each, so a search tests one bit
 *    of each outage. */
#include "jobmgr/schedule/schedule_outage.h"

#include <stdlib.h>

#include "jobmgr/schedule/schedule_bits.h"

static int compare_starts(const void *a, const void *b)
{
	const struct schedule_node_outage *x = a, *y = b;
	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	return (x->outage > y->outage) - (x->outage < y->outage);
}

static int compare_ends(const void *a, const void *b)
{
	const struct schedule_node_outage *x = *(const struct schedule_node_outage *const *)a,
					  *y = *(const struct schedule_node_outage *const *)b;
	if (x->to != y->to)
		return x->to < y->to ? -1 : 1;
	return (x > y) - (x < y);
}

/* Returns the set of nodes of an outage. An outage that names no nodes, and has the id of the one before it in the snapshot, is
 * another time of the same reservation and has the same nodes: `before`. */
static uint64_t *outage_nodes(const struct schedule_cluster *c, const struct schedule_outage *outage, uint64_t *before)
{
	if (!outage->node_count && before && outage[-1].id == outage->id)
		return before;
	uint64_t *nodes = schedule_cluster_bits(c);
	for (size_t i = 0; i < outage->node_count; i++) {
		int node_index = schedule_cluster_by_id(c, outage->node_ids[i]);
		if (node_index >= 0)
			schedule_bits_add(nodes, (size_t)node_index);
	}
	return nodes;
}

struct schedule_outage_list schedule_outage_list_make(const struct schedule_cluster *cluster)
{
	const struct schedule_snapshot *s = cluster->snapshot;
	struct schedule_outage_list all = {0};
	all.list = schedule_arena_take(cluster->arena, s->outage_count, sizeof *all.list);
	all.by_to = schedule_arena_take(cluster->arena, s->outage_count, sizeof *all.by_to);
	uint64_t *nodes = NULL;
	for (size_t i = 0; i < s->outage_count; i++) {
		const struct schedule_outage *outage = &s->outages[i];
		nodes = outage_nodes(cluster, outage, nodes);
		if (outage->to > s->now)
			all.list[all.count++] = (struct schedule_node_outage){outage->from, outage->to, outage, nodes};
	}
	if (!all.count)
		return all;
	qsort(all.list, all.count, sizeof *all.list, compare_starts);
	for (size_t i = 0; i < all.count; i++)
		all.by_to[i] = &all.list[i];
	qsort(all.by_to, all.count, sizeof *all.by_to, compare_ends);
	return all;
}

static bool outage_admits(const struct schedule_outage *outage, const struct schedule_pending *step)
{
	for (size_t i = 0; i < step->admitted_count; i++)
		if (outage->id && step->admitted[i] == outage->id)
			return true;
	return false;
}

const struct schedule_node_outage *schedule_outage_find(const struct schedule_outage_list *outages,
							const struct schedule_pending *step, size_t node_index, double at,
							double until)
{
	for (size_t i = 0; i < outages->count && outages->list[i].from < until; i++) {
		const struct schedule_node_outage *node_outage = &outages->list[i];
		if (node_outage->to > at && schedule_bits_has(node_outage->nodes, node_index) &&
		    !outage_admits(node_outage->outage, step))
			return node_outage;
	}
	return NULL;
}
