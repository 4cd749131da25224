/* plan.c - measures one whole scheduling cycle without I/O: `plan STEPS NODES RESERVATIONS TURNS [EXCLUDED]`. Each step needs several
 * nodes, and no two steps are alike. None fits now, because the nodes are full of steps that end at different times. Each step excludes
 * EXCLUDED nodes (default: 0), as one does that lacks there what its checkpoint needs. Prints the median of TURNS cycles in milliseconds
 * of CPU time. tests/bench/depth.py runs it. It uses only jobmgr/schedule. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "jobmgr/schedule/schedule.h"
#include "lib/err.h"

enum { CPUS = 64 };

static struct schedule_snapshot cluster(int nodes)
{
	static struct schedule_partition partition = {.name = "main"};
	struct schedule_node *node = xcalloc((size_t)nodes, sizeof *node);
	struct schedule_running *running = xcalloc((size_t)nodes * CPUS, sizeof *running);
	struct schedule_snapshot s = {
		.now = 1e9, .nodes = node, .node_count = (size_t)nodes, .running = running, .partitions = &partition};
	int *ids = xcalloc((size_t)nodes, sizeof *ids);
	for (int i = 0; i < nodes; i++) {
		ids[i] = i;
		node[i] = (struct schedule_node){
			.id = i, .name = xasprintf("n%d", i), .cpus = CPUS, .cpus_used = CPUS, .mem_mb = 100000, .usable = true};
		for (int k = 0; k < CPUS; k++) {
			struct schedule_running *row = &running[s.running_count++];
			*row = (struct schedule_running){.job = 1000000 + (int64_t)s.running_count, .node_id = i, .cpus = 1};
			row->ends_at = s.now + 1 + (double)(s.running_count * 7919 % 86400);
		}
	}
	partition.node_ids = ids;
	partition.node_count = (size_t)nodes;
	s.partition_count = 1;
	return s;
}

static void queue(struct schedule_snapshot *s, int steps, int nodes, int excluded)
{
	struct schedule_pending *pending = xcalloc((size_t)steps, sizeof *pending);
	const char **names = xcalloc((size_t)nodes, sizeof *names);
	for (int i = 0; i < nodes; i++)
		names[i] = s->nodes[i].name;
	for (int i = 0; i < steps; i++)
		pending[i] = (struct schedule_pending){.job = i + 1,
						       .name = "s",
						       .partition = "main",
						       .array_free_slots = -1,
						       .with_set = -1,
						       .nodes_min = 2 + i % (nodes / 4 + 1),
						       .exclude = names,
						       .exclude_count = (size_t)excluded,
						       .cpus_per_task = 1 + i % 7,
						       .mem_mb = i,
						       .time_limit_s = 600 + i % 5000};
	s->pending = pending;
	s->pending_count = (size_t)steps;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
	if (argc < 5 || argc > 6)
		return fputs("Usage: plan STEPS NODES RESERVATIONS TURNS [EXCLUDED]\n", stderr) < 0 ? 1 : 2;
	int steps = atoi(argv[1]), nodes = atoi(argv[2]), turns = atoi(argv[4]), excluded = argc > 5 ? atoi(argv[5]) : 0;
	struct schedule_policy policy = {.backfill = true, .reservations = atoi(argv[3])};
	struct schedule_snapshot s = cluster(nodes);
	double *took = xcalloc((size_t)turns, sizeof *took);
	queue(&s, steps, nodes, excluded);
	for (int i = 0; i < turns; i++) {
		struct timespec before, after;
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
		struct schedule_result *result = schedule_run(&s, &policy);
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
		took[i] = (double)(after.tv_sec - before.tv_sec) * 1e3 + (double)(after.tv_nsec - before.tv_nsec) / 1e6;
		if (result->start_count > 0 || result->wait_count != (size_t)steps)
			die("%zu steps start and %zu wait; expected: 0 start and %d wait", result->start_count,
			    result->wait_count, steps);
		schedule_result_free(result);
	}
	qsort(took, (size_t)turns, sizeof *took, compare);
	printf("%.2f\n", took[turns / 2]);
	return 0;
}
