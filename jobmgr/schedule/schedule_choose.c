/* schedule_choose.c - which of the nodes that could take some of a step's tasks take them.
 *
 * Called by schedule_fit.c when no single node will do. Answers the fewest nodes that take all tasks (between nodes_min and
 * nodes_max); among those sets, the one that a walk in the order of preference finds first. */
#include <stdlib.h>

#include "jobmgr/schedule/schedule_fit.h"

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

bool schedule_choose_spread(struct schedule_spot *spot, size_t count, int ntasks)
{
	int64_t rest = ntasks > (int)count ? ntasks : (int64_t)count;
	for (size_t i = 0; i < count; i++) {
		int64_t most = rest - (int64_t)(count - i - 1);
		spot[i].tasks = spot[i].tasks < most ? spot[i].tasks : (int)most;
		rest -= spot[i].tasks;
	}
	return !rest;
}

bool schedule_choose(struct schedule_fit *fit, const struct schedule_request *request)
{
	size_t nodes = choose_fewest(fit, request);
	if (!nodes)
		return false;
	qsort(fit->candidate, fit->candidates, sizeof *fit->candidate, by_preference);
	if (!choose_first(fit, request, nodes))
		choose_walk(fit, request, nodes);
	qsort(fit->spot, fit->spots, sizeof *fit->spot, by_place);
	return schedule_choose_spread(fit->spot, fit->spots, request->ntasks);
}

bool schedule_choose_all(struct schedule_fit *fit, const struct schedule_request *request)
{
	choose_first(fit, request, fit->candidates);
	return schedule_choose_spread(fit->spot, fit->spots, request->ntasks);
}
