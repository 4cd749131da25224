/* schedule_earliest.c - finds the earliest start of a gang, by moving a view of the cluster forward in time.
 *
 * Called by: schedule_wait.c, for the first waiting gangs of each partition.
 * Invariants:
 *  - A gang can begin to fit only when a step, a backfill reservation or an outage ends, so only these moments are tried.
 *  - At each end only the nodes that changed are counted again. The gang is placed only if the counts allow it. */
#include "jobmgr/schedule/schedule_earliest.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "jobmgr/schedule/schedule_bits.h"

/* Tasks of one gang member that fit on the nodes, counted over all nodes. */
struct counts {
	const struct schedule_request *request;
	int64_t seconds;
	int *tasks; /* by node index: number of tasks that fit on the node at the view's moment */
	/* number of nodes that take at least one task, and of nodes that take at least `large_tasks` */
	size_t nodes, large_nodes;
	int64_t sum;	 /* number of tasks that all nodes take together */
	int large_tasks; /* number of tasks that at least one node has to take */
	double until;
	size_t reservations_met; /* backfill reservations that begin before `until` */
	size_t outages_met;	 /* outages that begin before `until` */
};

struct schedule_earliest {
	struct schedule_profile *profile;
	const struct schedule_cluster *cluster;
	struct schedule_placement *placement;
	struct schedule_view view;
	struct counts *counts;
	size_t counts_used, counts_capacity;
	size_t end, from, to, outage; /* positions in the lists of ends, reservations by start and by end, and outages by end */
	size_t end_before, to_before, outage_before; /* `end`, `to` and `outage` before the last earliest_move() */
};

struct schedule_earliest *schedule_earliest_new(struct schedule_profile *profile, struct schedule_placement *placement)
{
	struct schedule_earliest *r = schedule_arena_take(profile->cluster->arena, 1, sizeof *r);
	r->profile = profile;
	r->cluster = profile->cluster;
	r->placement = placement;
	return r;
}

static void counts_update_node(struct schedule_earliest *r, struct counts *counts, size_t node_index)
{
	if (node_index == r->cluster->nodes || !schedule_bits_has(counts->request->mask, node_index))
		return;
	int before = counts->tasks[node_index];
	int after = schedule_fit_tasks(r->profile, &r->view, counts->request, node_index, counts->until, NULL);
	counts->tasks[node_index] = after;
	counts->nodes += (after > 0) - (before > 0);
	counts->large_nodes += (after >= counts->large_tasks) - (before >= counts->large_tasks);
	counts->sum += after - before;
}

static void earliest_update_node(struct schedule_earliest *r, size_t node_index)
{
	for (size_t i = 0; i < r->counts_used; i++)
		counts_update_node(r, &r->counts[i], node_index);
}

/* Count tasks again on the nodes of backfill reservations that now begin within the member's time limit. */
static void counts_meet_reservations(struct schedule_earliest *r, struct counts *counts)
{
	for (; counts->reservations_met < r->profile->reservation_count; counts->reservations_met++) {
		const struct schedule_reservation *reservation = r->profile->by_from[counts->reservations_met];
		if (reservation->from >= counts->until)
			return;
		for (size_t i = 0; i < reservation->part_count; i++)
			counts_update_node(r, counts, (size_t)reservation->parts[i].node_index);
	}
}

static void counts_update_outage(struct schedule_earliest *r, struct counts *counts,
				 const struct schedule_node_outage *node_outage)
{
	for (size_t w = 0; w < r->cluster->words; w++)
		for (uint64_t word = node_outage->nodes[w]; word;)
			counts_update_node(r, counts, w * 64 + schedule_bits_pop(&word));
}

/* Count tasks again on the nodes of outages that now begin within the member's time limit. */
static void counts_meet_outages(struct schedule_earliest *r, struct counts *counts)
{
	const struct schedule_outage_list *all = &r->profile->outages;
	for (; counts->outages_met < all->count && all->list[counts->outages_met].from < counts->until; counts->outages_met++)
		counts_update_outage(r, counts, &all->list[counts->outages_met]);
}

static bool counts_suffice(const struct schedule_earliest *r, const struct counts *counts)
{
	return counts->nodes >= (size_t)counts->request->nodes_min && counts->sum >= counts->request->ntasks &&
	       counts->large_nodes && schedule_fit_licenses(r->profile, &r->view, counts->request, counts->until);
}

static void counts_begin(struct schedule_earliest *r, struct counts *counts, const struct schedule_member *member)
{
	const struct schedule_request *request = member->request;
	int *tasks = counts->tasks ? counts->tasks : schedule_arena_take(r->cluster->arena, r->cluster->nodes, sizeof *tasks);
	memset(tasks, 0, r->cluster->nodes * sizeof *tasks);
	*counts = (struct counts){.request = request, .seconds = member->seconds, .tasks = tasks};
	counts->until = schedule_profile_until(r->view.at, counts->seconds);
	counts->large_tasks = (request->ntasks - 1) / request->nodes_max + 1;
	for (size_t w = 0; w < r->cluster->words; w++)
		for (uint64_t word = request->mask[w]; word;)
			counts_update_node(r, counts, w * 64 + schedule_bits_pop(&word));
}

static void earliest_begin(struct schedule_earliest *r, const struct schedule_gang *gang)
{
	if (gang->count > r->counts_capacity) {
		r->counts_capacity = gang->count * 2;
		r->counts = schedule_arena_take(r->cluster->arena, r->counts_capacity, sizeof *r->counts);
	}
	schedule_profile_sort(r->profile);
	schedule_profile_copy(r->profile, &r->view);
	r->end = r->from = r->to = r->outage = 0;
	r->counts_used = gang->count;
	for (size_t i = 0; i < gang->count; i++)
		counts_begin(r, &r->counts[i], &gang->member[i]);
}

static void earliest_shift(struct schedule_earliest *r, const struct schedule_reservation *reservation, int sign)
{
	for (size_t i = 0; i < reservation->part_count; i++) {
		schedule_profile_shift(r->profile, &r->view, (size_t)reservation->parts[i].node_index, reservation->parts[i].draw,
				       sign);
		earliest_update_node(r, (size_t)reservation->parts[i].node_index);
	}
}

/* Move the view to the next end of a step, a backfill reservation or an outage. Returns false if there is none. */
static bool earliest_move(struct schedule_earliest *r)
{
	const struct schedule_profile *p = r->profile;
	const struct schedule_outage_list *outages = &p->outages;
	double at = r->outage < outages->count ? outages->by_to[r->outage]->to : INFINITY;
	if (r->end < p->end_count)
		at = fmin(at, p->end[r->end].at);
	if (r->to < p->reservation_count)
		at = fmin(at, p->by_to[r->to]->to);
	if (at > SCHEDULE_FOREVER)
		return false;
	r->end_before = r->end;
	r->to_before = r->to;
	r->outage_before = r->outage;
	r->view.at = at;
	for (size_t i = 0; i < r->counts_used; i++)
		r->counts[i].until = schedule_profile_until(at, r->counts[i].seconds);
	for (; r->from < p->reservation_count && p->by_from[r->from]->from <= at; r->from++)
		earliest_shift(r, p->by_from[r->from], -1);
	for (; r->to < p->reservation_count && p->by_to[r->to]->to <= at; r->to++)
		earliest_shift(r, p->by_to[r->to], 1);
	for (; r->end < p->end_count && p->end[r->end].at <= at; r->end++) {
		const struct schedule_end *end = &p->end[r->end];
		schedule_profile_shift(p, &r->view, (size_t)end->node_index, end->amount, 1);
		earliest_update_node(r, (size_t)end->node_index);
	}
	for (; r->outage < outages->count && outages->by_to[r->outage]->to <= at; r->outage++)
		for (size_t i = 0; i < r->counts_used; i++)
			counts_update_outage(r, &r->counts[i], outages->by_to[r->outage]);
	for (size_t i = 0; i < r->counts_used; i++) {
		counts_meet_reservations(r, &r->counts[i]);
		counts_meet_outages(r, &r->counts[i]);
	}
	return true;
}

static bool earliest_uses_node(const struct schedule_earliest *r, int node_index)
{
	size_t count;
	const struct schedule_placed *placed = schedule_placement_placed(r->placement, &count);
	for (size_t i = 0; i < count; i++) {
		const struct schedule_taken *taken = schedule_placement_taken(r->placement, &placed[i]);
		for (size_t k = 0; k < placed[i].node_count + placed[i].licensed; k++)
			if (taken[k].node_index == node_index)
				return true;
	}
	return false;
}

/* Returns the step, backfill reservation or outage whose end lets the gang start at `view.at`, as `source` of struct
 * schedule_end. If several end then, a step on a node that the gang takes comes first. */
static int earliest_source(const struct schedule_earliest *r)
{
	for (size_t i = r->end_before; i < r->end; i++)
		if (earliest_uses_node(r, r->profile->end[i].node_index))
			return r->profile->end[i].source;
	if (r->outage_before < r->outage)
		return (int)(r->cluster->snapshot->running_count +
			     (size_t)(r->profile->outages.by_to[r->outage_before] - r->profile->outages.list));
	if (r->to_before < r->to)
		return ~(int)r->profile->by_to[r->to_before]->pending;
	return r->profile->end[r->end_before].source;
}

bool schedule_earliest_find(struct schedule_earliest *earliest, const struct schedule_gang *gang, struct schedule_moment *moment)
{
	earliest_begin(earliest, gang);
	while (earliest_move(earliest)) {
		bool enough = true;
		for (size_t i = 0; enough && i < earliest->counts_used; i++)
			enough = counts_suffice(earliest, &earliest->counts[i]);
		if (!enough || !schedule_placement_try(earliest->placement, &earliest->view, gang))
			continue;
		*moment = (struct schedule_moment){earliest->view.at, earliest_source(earliest), &earliest->view};
		return true;
	}
	return false;
}
