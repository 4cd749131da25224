/* schedule_fit.c - finds the nodes for one step at one moment: the fewest nodes that take all tasks of the step, preferred nodes
 * first.
 *
 * Called by: schedule_placement.c and schedule_earliest.c.
 * Invariants:
 *  - No resources are taken here. The caller takes the resources of the nodes found. */
#include "jobmgr/schedule/schedule_fit.h"

#include <limits.h>
#include <stdlib.h>

#include "jobmgr/schedule/schedule_bits.h"

struct schedule_fit *schedule_fit_new(const struct schedule_profile *profile)
{
	const struct schedule_cluster *c = profile->cluster;
	struct schedule_fit *fit = schedule_arena_take(c->arena, 1, sizeof *fit);
	fit->profile = profile;
	fit->candidates = schedule_arena_take(c->arena, c->nodes, sizeof *fit->candidates);
	fit->tasks = schedule_arena_take(c->arena, c->nodes, sizeof *fit->tasks);
	fit->chosen = schedule_arena_take(c->arena, c->nodes, sizeof *fit->chosen);
	return fit;
}

struct query {
	const struct schedule_profile *profile;
	const struct schedule_view *view;
	const struct schedule_request *request;
	size_t node_index;
	double until;
	const int64_t *extra;
};

static int64_t fit_free(const struct query *q, size_t kind)
{
	int64_t free = schedule_profile_least_free(q->profile, q->view, q->node_index, kind, q->until);
	if (q->request->reserved && !q->view->empty)
		free += schedule_reserved_amount(q->request->reserved, (int)q->node_index, kind);
	return q->extra ? free - q->extra[kind] : free;
}

/* Is the whole node free for the time of the step? */
static bool fit_node_is_free(const struct query *q)
{
	const struct schedule_cluster *c = q->profile->cluster;
	for (size_t k = 0; k < SCHEDULE_FIRST_GRES + c->gres.count; k++)
		if (fit_free(q, k) < c->total[q->node_index * c->kinds + k])
			return false;
	return true;
}

/* Returns true if the step can run on the node with its present setup, or after another setup. Sets `whole` if the node has to
 * get another setup: then it must be empty, without even resources that are reserved for the step. */
static bool fit_setup(const struct query *q, bool *whole)
{
	switch (schedule_cluster_setup(q->profile->cluster, q->request->step, q->node_index)) {
	case SCHEDULE_SETUP_RIGHT:
		return true;
	case SCHEDULE_SETUP_OTHER:
		*whole = true;
		return !q->request->reserved ||
		       (!schedule_reserved_amount(q->request->reserved, (int)q->node_index, SCHEDULE_CPUS) &&
			!schedule_reserved_amount(q->request->reserved, (int)q->node_index, SCHEDULE_MEM));
	default:
		return false;
	}
}

int schedule_fit_tasks(const struct schedule_profile *profile, const struct schedule_view *view,
		       const struct schedule_request *request, size_t node_index, double until, const int64_t *extra)
{
	const struct query q = {profile, view, request, node_index, until, extra};
	int64_t tasks = fit_free(&q, SCHEDULE_CPUS) / request->cpus_per_task;
	bool whole = request->exclusive;
	if (profile->cluster->has_setups && !view->empty && !fit_setup(&q, &whole))
		return 0;
	if (tasks <= 0 || (whole && !fit_node_is_free(&q)))
		return 0;
	if (!view->ignores_outages && schedule_outage_find(&profile->outages, request->step, node_index, view->at, until))
		return 0;
	if (request->whole_memory) {
		const struct schedule_cluster *c = profile->cluster;
		if (fit_free(&q, SCHEDULE_MEM) < c->total[node_index * c->kinds + SCHEDULE_MEM])
			return 0;
	} else if (request->mem_mb) {
		if (fit_free(&q, SCHEDULE_MEM) < request->mem_mb)
			return 0;
	} else if (request->mem_per_cpu_mb) {
		int64_t by_mem = fit_free(&q, SCHEDULE_MEM) / request->mem_per_cpu_mb / request->cpus_per_task;
		tasks = tasks < by_mem ? tasks : by_mem;
	}
	for (size_t i = 0; i < request->gres_count; i++)
		if (fit_free(&q, request->gres[i].kind) < request->gres[i].count)
			return 0;
	tasks = tasks < request->tasks_per_node ? tasks : request->tasks_per_node;
	tasks = tasks < request->ntasks ? tasks : request->ntasks;
	return tasks > 0 ? (int)tasks : 0;
}

bool schedule_fit_licenses(const struct schedule_profile *profile, const struct schedule_view *view,
			   const struct schedule_request *request, double until)
{
	const struct query q = {profile, view, request, profile->cluster->nodes, until, NULL};
	for (size_t i = 0; i < request->license_count; i++)
		if (fit_free(&q, request->licenses[i].kind) < request->licenses[i].count)
			return false;
	return true;
}

/* Returns the rank of a node for a request; the lowest is chosen first: nodes with the right setup, then those with data of the
 * step, then by weight, then by free CPUs. */
static uint64_t fit_preference(const struct schedule_profile *profile, const struct schedule_view *view,
			       const struct schedule_request *request, size_t node_index)
{
	const uint64_t with_other_setup = (uint64_t)1 << 63, without_data = (uint64_t)1 << 62;
	const int64_t most = ((int64_t)1 << SCHEDULE_CPU_BITS) - 1;
	int64_t cpus = view->free[node_index * profile->cluster->kinds + SCHEDULE_CPUS];
	cpus = cpus < 0 ? 0 : cpus > most ? most : cpus;
	uint64_t preference = profile->cluster->preference[node_index] | (uint64_t)cpus << SCHEDULE_NODE_BITS;
	if (profile->cluster->has_setups &&
	    schedule_cluster_setup(profile->cluster, request->step, node_index) == SCHEDULE_SETUP_OTHER)
		preference |= with_other_setup;
	return request->data && !schedule_bits_has(request->data, node_index) ? preference | without_data : preference;
}

/* Returns word `w` of the set of nodes to try. Nodes without a free CPU are skipped, unless the request has reserved
 * resources. */
static uint64_t fit_node_word(const struct schedule_view *view, const struct schedule_request *request,
			      const struct schedule_terms *terms, size_t w)
{
	uint64_t word = request->mask[w];
	if (!request->reserved)
		word &= view->with_free_cpu[w];
	return terms && terms->ban ? word & ~terms->ban[w] : word;
}

/* A search for candidate nodes. Among the nodes that could take all tasks alone, it also finds the preferred one. */
struct scan {
	const struct schedule_view *view;
	const struct schedule_request *request;
	double until;
	const int64_t *extra;
	uint64_t best;
	int best_node;	   /* index of the preferred node among those that could take all tasks alone; -1: no such node */
	int64_t sum, most; /* number of tasks that all candidates take, and that the largest candidate takes */
};

static void scan_node(struct schedule_fit *fit, struct scan *scan, size_t node_index)
{
	const struct schedule_request *request = scan->request;
	if (!request->reserved && scan->view->free[node_index * fit->profile->cluster->kinds] < request->cpus_per_task)
		return;
	int tasks = schedule_fit_tasks(fit->profile, scan->view, request, node_index, scan->until, scan->extra);
	if (!tasks)
		return;
	uint64_t preference = fit_preference(fit->profile, scan->view, request, node_index);
	fit->candidates[fit->candidate_count++] = (struct schedule_candidate){preference, (int)node_index, tasks};
	scan->sum += tasks;
	scan->most = tasks > scan->most ? tasks : scan->most;
	if (request->nodes_min == 1 && tasks >= request->ntasks && preference < scan->best) {
		scan->best = preference;
		scan->best_node = (int)node_index;
	}
}

static bool scan_enough(const struct schedule_fit *fit, const struct scan *scan)
{
	return scan->best_node >= 0 ||
	       (scan->sum >= scan->request->ntasks && fit->candidate_count >= (size_t)scan->request->nodes_min &&
		fit->candidate_count <= (size_t)scan->request->nodes_max);
}

static void fit_scan_nodes(struct schedule_fit *fit, struct scan *scan, const struct schedule_terms *terms)
{
	fit->candidate_count = 0;
	for (size_t w = 0; w < fit->profile->cluster->words; w++) {
		for (uint64_t word = fit_node_word(scan->view, scan->request, terms, w); word;) {
			scan_node(fit, scan, w * 64 + schedule_bits_pop(&word));
			if (fit->any_nodes && scan_enough(fit, scan))
				return;
		}
	}
}

/* Choice among the candidate nodes. */

static int compare_preference(const void *a, const void *b)
{
	uint64_t x = ((const struct schedule_candidate *)a)->preference, y = ((const struct schedule_candidate *)b)->preference;
	return (x > y) - (x < y);
}

static int compare_node_index(const void *a, const void *b)
{
	int x = ((const struct schedule_node_tasks *)a)->node_index, y = ((const struct schedule_node_tasks *)b)->node_index;
	return (x > y) - (x < y);
}

static int compare_descending(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;
	return (x < y) - (x > y);
}

/* Returns the least number of nodes that take all tasks, or 0 if the tasks do not fit. Leaves fit->tasks in descending order. */
static size_t choose_fewest(struct schedule_fit *fit, const struct schedule_request *request)
{
	int64_t sum = 0;
	for (size_t i = 0; i < fit->candidate_count; i++)
		fit->tasks[i] = fit->candidates[i].tasks;
	qsort(fit->tasks, fit->candidate_count, sizeof *fit->tasks, compare_descending);
	for (size_t i = 0; i < fit->candidate_count && i < (size_t)request->nodes_max; i++) {
		sum += fit->tasks[i];
		if (i + 1 >= (size_t)request->nodes_min && sum >= request->ntasks)
			return i + 1;
	}
	return 0;
}

/* Returns the number of tasks that the largest `most` of `count` candidates take. `tasks` is in descending order; one entry equal
 * to `without` is skipped. */
static int64_t choose_best(const int *tasks, size_t count, size_t most, int without)
{
	int64_t sum = 0;
	bool passed = false;
	for (size_t i = 0; i < count && most; i++) {
		if (!passed && tasks[i] == without) {
			passed = true;
			continue;
		}
		sum += tasks[i];
		most--;
	}
	return sum;
}

static void choose_drop(int *tasks, size_t *count, int value)
{
	size_t at = 0;
	while (tasks[at] != value)
		at++;
	for (--*count; at < *count; at++)
		tasks[at] = tasks[at + 1];
}

/* Choose candidates in the order of preference. A candidate is chosen if the largest remaining candidates can take the tasks that
 * are then left. A candidate that was skipped cannot be chosen later, so one pass is enough. */
static void choose_walk(struct schedule_fit *fit, const struct schedule_request *request, size_t nodes)
{
	size_t undecided = fit->candidate_count;
	int64_t rest = request->ntasks;
	fit->chosen_count = 0;
	for (size_t i = 0; fit->chosen_count < nodes; i++) {
		const struct schedule_candidate *candidate = &fit->candidates[i];
		size_t more = nodes - fit->chosen_count - 1;
		bool enough = candidate->tasks + choose_best(fit->tasks, undecided, more, candidate->tasks) >= rest;
		choose_drop(fit->tasks, &undecided, candidate->tasks);
		if (!enough)
			continue;
		rest -= candidate->tasks;
		fit->chosen[fit->chosen_count++] = (struct schedule_node_tasks){candidate->node_index, candidate->tasks};
	}
}

/* Choose the first nodes in the order of preference. Returns true if they take all tasks; choose_walk() would then choose the
 * same nodes. */
static bool choose_first(struct schedule_fit *fit, const struct schedule_request *request, size_t nodes)
{
	int64_t sum = 0;
	for (size_t i = 0; i < nodes; i++) {
		fit->chosen[i] = (struct schedule_node_tasks){fit->candidates[i].node_index, fit->candidates[i].tasks};
		sum += fit->candidates[i].tasks;
	}
	fit->chosen_count = nodes;
	return sum >= request->ntasks;
}

/* Spread the tasks over the nodes in order. On entry chosen[i].tasks is the number of tasks that node i can take. The nodes are
 * filled in turn, but every node gets at least one task. Returns false if the nodes cannot take all tasks. */
static bool choose_spread(struct schedule_node_tasks *chosen, size_t count, int ntasks)
{
	int64_t rest = ntasks > (int)count ? ntasks : (int64_t)count;
	for (size_t i = 0; i < count; i++) {
		int64_t most = rest - (int64_t)(count - i - 1);
		chosen[i].tasks = chosen[i].tasks < most ? chosen[i].tasks : (int)most;
		rest -= chosen[i].tasks;
	}
	return !rest;
}

bool schedule_fit_spread(struct schedule_fit *fit, int ntasks)
{
	return choose_spread(fit->chosen, fit->chosen_count, ntasks);
}

static bool choose_nodes(struct schedule_fit *fit, const struct schedule_request *request)
{
	size_t nodes = choose_fewest(fit, request);
	if (!nodes)
		return false;
	qsort(fit->candidates, fit->candidate_count, sizeof *fit->candidates, compare_preference);
	if (!choose_first(fit, request, nodes))
		choose_walk(fit, request, nodes);
	qsort(fit->chosen, fit->chosen_count, sizeof *fit->chosen, compare_node_index);
	return choose_spread(fit->chosen, fit->chosen_count, request->ntasks);
}

static bool choose_all(struct schedule_fit *fit, const struct schedule_request *request)
{
	choose_first(fit, request, fit->candidate_count);
	return choose_spread(fit->chosen, fit->chosen_count, request->ntasks);
}

static bool fit_forced_nodes(struct schedule_fit *fit, const struct schedule_view *view, const struct schedule_request *request,
			     double until, const struct schedule_terms *terms)
{
	bool by_terms = terms && terms->forced;
	size_t count = by_terms ? terms->forced_count : request->forced_count;
	bool fits = true;
	fit->candidate_count = 0;
	if (by_terms && (count < (size_t)request->nodes_min || count > (size_t)request->nodes_max))
		return false;
	for (size_t i = 0; i < count; i++) {
		int node_index = by_terms ? terms->forced[i].node_index : request->forced[i];
		bool allowed = schedule_bits_has(request->mask, (size_t)node_index) &&
			       !(terms && terms->ban && schedule_bits_has(terms->ban, (size_t)node_index));
		int tasks = allowed ? schedule_fit_tasks(fit->profile, view, request, (size_t)node_index, until,
							 terms ? terms->extra : NULL)
				    : 0;
		fit->chosen[i] = (struct schedule_node_tasks){node_index, tasks};
		fit->candidate_count += tasks > 0;
		fits &= tasks > 0;
	}
	fit->chosen_count = count;
	return fits && choose_spread(fit->chosen, count, request->ntasks);
}

static bool fit_repeats_last(const struct schedule_fit *fit, const struct schedule_view *view,
			     const struct schedule_request *request, double until, const struct schedule_terms *terms)
{
	return fit->last_request == request && fit->last_until == until && request->nodes_min == 1 && !terms &&
	       view == &fit->profile->live &&
	       schedule_fit_tasks(fit->profile, view, request, (size_t)fit->last_node, until, NULL) >= request->ntasks;
}

bool schedule_fit_nodes(struct schedule_fit *fit, const struct schedule_view *view, const struct schedule_request *request,
			double until, const struct schedule_terms *terms)
{
	if (fit_repeats_last(fit, view, request, until, terms)) {
		fit->chosen[0] = (struct schedule_node_tasks){fit->last_node, request->ntasks};
		fit->chosen_count = 1;
		return true;
	}
	fit->evaluations++;
	if (request->forced || (terms && terms->forced))
		return fit_forced_nodes(fit, view, request, until, terms);
	struct scan scan = {view, request, until, terms ? terms->extra : NULL, UINT64_MAX, -1, 0, 0};
	fit_scan_nodes(fit, &scan, terms);
	if (scan.best_node >= 0) {
		fit->chosen[0] = (struct schedule_node_tasks){scan.best_node, request->ntasks};
		fit->chosen_count = 1;
		return true;
	}
	if (request->nodes_max == 1 || fit->candidate_count < (size_t)request->nodes_min || scan.sum < request->ntasks ||
	    scan.most * request->nodes_max < request->ntasks)
		return false;
	return fit->any_nodes && scan_enough(fit, &scan) ? choose_all(fit, request) : choose_nodes(fit, request);
}
