/* schedule_fit.c - how many tasks a place can take, and which places take a step.
 *
 * Called for each step that is tried, at each moment it is tried at. Takes nothing: the caller does, with what is answered. */
#include "jobmgr/schedule/schedule_fit.h"

#include <limits.h>
#include <stdlib.h>

#include "jobmgr/schedule/schedule_bits.h"

struct schedule_fit *schedule_fit_new(const struct schedule_profile *profile)
{
	const struct schedule_cluster *c = profile->cluster;
	struct schedule_fit *fit = schedule_arena_take(c->arena, 1, sizeof *fit);
	fit->profile = profile;
	fit->candidate = schedule_arena_take(c->arena, c->nodes, sizeof *fit->candidate);
	fit->tasks = schedule_arena_take(c->arena, c->nodes, sizeof *fit->tasks);
	fit->spot = schedule_arena_take(c->arena, c->nodes, sizeof *fit->spot);
	return fit;
}

struct question {
	const struct schedule_profile *profile;
	const struct schedule_view *view;
	const struct schedule_request *request;
	size_t place;
	double until;
	const int64_t *extra;
};

static int64_t fit_spare(const struct question *q, size_t kind)
{
	int64_t spare = schedule_profile_least(q->profile, q->view, q->place, kind, q->until);
	if (q->request->kept && !q->view->empty)
		spare += schedule_kept_amount(q->request->kept, (int)q->place, kind);
	return q->extra ? spare - q->extra[kind] : spare;
}

/* A whole node: nobody holds anything of it, as long as the step may run. */
static bool fit_whole(const struct question *q)
{
	const struct schedule_cluster *c = q->profile->cluster;
	for (size_t k = 0; k < SCHEDULE_FIRST_GRES + c->gres.count; k++)
		if (fit_spare(q, k) < c->total[q->place * c->kinds + k])
			return false;
	return true;
}

int schedule_fit_tasks(const struct schedule_profile *profile, const struct schedule_view *view,
		       const struct schedule_request *request, size_t place, double until, const int64_t *extra)
{
	const struct question q = {profile, view, request, place, until, extra};
	int64_t tasks = fit_spare(&q, SCHEDULE_CPUS) / request->cpus_per_task;
	if (tasks <= 0 || (request->exclusive && !fit_whole(&q)))
		return 0;
	if (!view->calm && schedule_outage_meet(&profile->barriers, request->step, place, view->at, until))
		return 0;
	if (request->whole_memory) {
		const struct schedule_cluster *c = profile->cluster;
		if (fit_spare(&q, SCHEDULE_MEM) < c->total[place * c->kinds + SCHEDULE_MEM])
			return 0;
	} else if (request->mem_mb) {
		if (fit_spare(&q, SCHEDULE_MEM) < request->mem_mb)
			return 0;
	} else if (request->mem_per_cpu_mb) {
		int64_t by_mem = fit_spare(&q, SCHEDULE_MEM) / request->mem_per_cpu_mb / request->cpus_per_task;
		tasks = tasks < by_mem ? tasks : by_mem;
	}
	for (size_t i = 0; i < request->gres_count; i++)
		if (fit_spare(&q, request->gres[i].kind) < request->gres[i].count)
			return 0;
	tasks = tasks < request->tasks_per_node ? tasks : request->tasks_per_node;
	tasks = tasks < request->ntasks ? tasks : request->ntasks;
	return tasks > 0 ? (int)tasks : 0;
}

bool schedule_fit_licenses(const struct schedule_profile *profile, const struct schedule_view *view,
			   const struct schedule_request *request, double until)
{
	const struct question q = {profile, view, request, profile->cluster->nodes, until, NULL};
	for (size_t i = 0; i < request->license_count; i++)
		if (fit_spare(&q, request->licenses[i].kind) < request->licenses[i].count)
			return false;
	return true;
}

static uint64_t fit_preference(const struct schedule_profile *profile, const struct schedule_view *view, size_t place)
{
	const int64_t most = ((int64_t)1 << SCHEDULE_CPU_BITS) - 1;
	int64_t cpus = view->free[place * profile->cluster->kinds + SCHEDULE_CPUS];
	cpus = cpus < 0 ? 0 : cpus > most ? most : cpus;
	return profile->cluster->preference[place] | (uint64_t)cpus << SCHEDULE_PLACE_BITS;
}

/* The words of places worth asking: a step that draws on kept resources may find nothing else free. */
static uint64_t fit_word(const struct schedule_view *view, const struct schedule_request *request,
			 const struct schedule_terms *terms, size_t w)
{
	uint64_t word = request->mask[w];
	if (!request->kept)
		word &= view->open[w];
	return terms && terms->ban ? word & ~terms->ban[w] : word;
}

/* Candidates, and the preferred of those that take all tasks. */
struct scan {
	const struct schedule_view *view;
	const struct schedule_request *request;
	double until;
	const int64_t *extra;
	uint64_t best;
	int best_place;	   /* -1: none */
	int64_t sum, most; /* of the candidates' tasks */
};

static void scan_place(struct schedule_fit *fit, struct scan *scan, size_t place)
{
	const struct schedule_request *request = scan->request;
	if (!request->kept && scan->view->free[place * fit->profile->cluster->kinds] < request->cpus_per_task)
		return;
	int tasks = schedule_fit_tasks(fit->profile, scan->view, request, place, scan->until, scan->extra);
	if (!tasks)
		return;
	uint64_t preference = fit_preference(fit->profile, scan->view, place);
	fit->candidate[fit->candidates++] = (struct schedule_candidate){preference, (int)place, tasks};
	scan->sum += tasks;
	scan->most = tasks > scan->most ? tasks : scan->most;
	if (request->nodes_min == 1 && tasks >= request->ntasks && preference < scan->best) {
		scan->best = preference;
		scan->best_place = (int)place;
	}
}

static bool scan_enough(const struct schedule_fit *fit, const struct scan *scan)
{
	return scan->best_place >= 0 ||
	       (scan->sum >= scan->request->ntasks && fit->candidates >= (size_t)scan->request->nodes_min &&
		fit->candidates <= (size_t)scan->request->nodes_max);
}

static void fit_scan(struct schedule_fit *fit, struct scan *scan, const struct schedule_terms *terms)
{
	fit->candidates = 0;
	for (size_t w = 0; w < fit->profile->cluster->words; w++) {
		for (uint64_t word = fit_word(scan->view, scan->request, terms, w); word;) {
			scan_place(fit, scan, w * 64 + schedule_bits_pop(&word));
			if (fit->any && scan_enough(fit, scan))
				return;
		}
	}
}

/* which of the candidates take the tasks */

static int by_preference(const void *a, const void *b)
{
	uint64_t x = ((const struct schedule_candidate *)a)->preference, y = ((const struct schedule_candidate *)b)->preference;
	return (x > y) - (x < y);
}

static int by_place(const void *a, const void *b)
{
	int x = ((const struct schedule_spot *)a)->place, y = ((const struct schedule_spot *)b)->place;
	return (x > y) - (x < y);
}

static int downwards(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;
	return (x < y) - (x > y);
}

/* The fewest nodes whose tasks together are enough; 0: there are none. Leaves fit->tasks in falling order. */
static size_t choose_fewest(struct schedule_fit *fit, const struct schedule_request *request)
{
	int64_t sum = 0;
	for (size_t i = 0; i < fit->candidates; i++)
		fit->tasks[i] = fit->candidate[i].tasks;
	qsort(fit->tasks, fit->candidates, sizeof *fit->tasks, downwards);
	for (size_t i = 0; i < fit->candidates && i < (size_t)request->nodes_max; i++) {
		sum += fit->tasks[i];
		if (i + 1 >= (size_t)request->nodes_min && sum >= request->ntasks)
			return i + 1;
	}
	return 0;
}

/* The tasks that the best `most` of the undecided candidates could take; `tasks` falls, and one entry equal to
 * `without` is passed over. */
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

/* Walk in the order of preference; a node is taken when the rest can still be taken with it. Once refused a node would be refused
 * always: what it lacks, the best others did not make up for. */
static void choose_walk(struct schedule_fit *fit, const struct schedule_request *request, size_t nodes)
{
	size_t undecided = fit->candidates;
	int64_t rest = request->ntasks;
	fit->spots = 0;
	for (size_t i = 0; fit->spots < nodes; i++) {
		const struct schedule_candidate *candidate = &fit->candidate[i];
		size_t more = nodes - fit->spots - 1;
		bool enough = candidate->tasks + choose_best(fit->tasks, undecided, more, candidate->tasks) >= rest;
		choose_drop(fit->tasks, &undecided, candidate->tasks);
		if (!enough)
			continue;
		rest -= candidate->tasks;
		fit->spot[fit->spots++] = (struct schedule_spot){candidate->place, candidate->tasks};
	}
}

/* The first nodes in the order of preference, when they are enough: what the walk would find. */
static bool choose_first(struct schedule_fit *fit, const struct schedule_request *request, size_t nodes)
{
	int64_t sum = 0;
	for (size_t i = 0; i < nodes; i++) {
		fit->spot[i] = (struct schedule_spot){fit->candidate[i].place, fit->candidate[i].tasks};
		sum += fit->candidate[i].tasks;
	}
	fit->spots = nodes;
	return sum >= request->ntasks;
}

/* Spread a request's tasks over the spots in order, where spot->tasks is the most each can take: each is filled in turn, but
 * none is left without a task. False when they do not take all. */
static bool choose_spread(struct schedule_spot *spot, size_t count, int ntasks)
{
	int64_t rest = ntasks > (int)count ? ntasks : (int64_t)count;
	for (size_t i = 0; i < count; i++) {
		int64_t most = rest - (int64_t)(count - i - 1);
		spot[i].tasks = spot[i].tasks < most ? spot[i].tasks : (int)most;
		rest -= spot[i].tasks;
	}
	return !rest;
}

static bool choose_nodes(struct schedule_fit *fit, const struct schedule_request *request)
{
	size_t nodes = choose_fewest(fit, request);
	if (!nodes)
		return false;
	qsort(fit->candidate, fit->candidates, sizeof *fit->candidate, by_preference);
	if (!choose_first(fit, request, nodes))
		choose_walk(fit, request, nodes);
	qsort(fit->spot, fit->spots, sizeof *fit->spot, by_place);
	return choose_spread(fit->spot, fit->spots, request->ntasks);
}

static bool choose_all(struct schedule_fit *fit, const struct schedule_request *request)
{
	choose_first(fit, request, fit->candidates);
	return choose_spread(fit->spot, fit->spots, request->ntasks);
}

static bool fit_forced(struct schedule_fit *fit, const struct schedule_view *view, const struct schedule_request *request,
		       double until, const struct schedule_terms *terms)
{
	bool by_terms = terms && terms->forced;
	size_t count = by_terms ? terms->forced_count : request->forced_count;
	bool fits = true;
	fit->candidates = 0;
	if (by_terms && (count < (size_t)request->nodes_min || count > (size_t)request->nodes_max))
		return false;
	for (size_t i = 0; i < count; i++) {
		int place = by_terms ? terms->forced[i].place : request->forced[i];
		bool allowed = schedule_bits_has(request->mask, (size_t)place) &&
			       !(terms && terms->ban && schedule_bits_has(terms->ban, (size_t)place));
		int tasks = allowed ? schedule_fit_tasks(fit->profile, view, request, (size_t)place, until,
							 terms ? terms->extra : NULL)
				    : 0;
		fit->spot[i] = (struct schedule_spot){place, tasks};
		fit->candidates += tasks > 0;
		fits &= tasks > 0;
	}
	fit->spots = count;
	return fits && choose_spread(fit->spot, count, request->ntasks);
}

static bool fit_again(const struct schedule_fit *fit, const struct schedule_view *view, const struct schedule_request *request,
		      double until, const struct schedule_terms *terms)
{
	return fit->again == request && fit->again_until == until && request->nodes_min == 1 && !terms &&
	       view == &fit->profile->live &&
	       schedule_fit_tasks(fit->profile, view, request, (size_t)fit->again_place, until, NULL) >= request->ntasks;
}

bool schedule_fit_nodes(struct schedule_fit *fit, const struct schedule_view *view, const struct schedule_request *request,
			double until, const struct schedule_terms *terms)
{
	if (fit_again(fit, view, request, until, terms)) {
		fit->spot[0] = (struct schedule_spot){fit->again_place, request->ntasks};
		fit->spots = 1;
		return true;
	}
	fit->evaluations++;
	if (request->forced || (terms && terms->forced))
		return fit_forced(fit, view, request, until, terms);
	struct scan scan = {view, request, until, terms ? terms->extra : NULL, UINT64_MAX, -1, 0, 0};
	fit_scan(fit, &scan, terms);
	if (scan.best_place >= 0) {
		fit->spot[0] = (struct schedule_spot){scan.best_place, request->ntasks};
		fit->spots = 1;
		return true;
	}
	if (request->nodes_max == 1 || fit->candidates < (size_t)request->nodes_min || scan.sum < request->ntasks ||
	    scan.most * request->nodes_max < request->ntasks)
		return false;
	return fit->any && scan_enough(fit, &scan) ? choose_all(fit, request) : choose_nodes(fit, request);
}
