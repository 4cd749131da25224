/* schedule_scale_test.c - the cost of a scheduling cycle in placement attempts, which do not depend on the machine. Times are printed. */
#include "tests/unit/unit.h"

#include <math.h>
#include <time.h>

#include "jobmgr/schedule/schedule.h"

enum { NODES = 1000, CPUS = 64, STEPS = 10000 };

static struct schedule_node node[NODES];
static struct schedule_running running[NODES * CPUS];
static struct schedule_pending pending[STEPS];
static char name[NODES][24];
static int id[NODES];
static struct schedule_partition partition = {.name = "p", .node_ids = id, .node_count = NODES};
static struct schedule_snapshot snapshot;

/* Make so many nodes, each with `busy` running steps of one CPU that end at different times. */
static void cluster(size_t nodes, int busy)
{
	snapshot = (struct schedule_snapshot){.now = 1e9,
					      .nodes = node,
					      .node_count = nodes,
					      .partitions = &partition,
					      .partition_count = 1,
					      .running = running,
					      .pending = pending};
	partition.node_count = nodes;
	for (size_t i = 0; i < nodes; i++) {
		snprintf(name[i], sizeof name[i], "n%zu", i);
		id[i] = (int)i;
		node[i] = (struct schedule_node){
			.id = (int)i, .name = name[i], .cpus = CPUS, .cpus_used = busy, .mem_mb = 100000, .usable = true};
		for (int k = 0; k < busy; k++) {
			struct schedule_running *row = &running[snapshot.running_count++];
			*row = (struct schedule_running){
				.job = 1000000 + (int64_t)snapshot.running_count, .node_id = (int)i, .cpus = 1};
			row->ends_at = snapshot.now + 1 + (double)(snapshot.running_count * 7919 % 86400);
		}
	}
}

static struct schedule_pending *step(void)
{
	struct schedule_pending *p = &pending[snapshot.pending_count++];
	*p = (struct schedule_pending){
		.job = (int64_t)snapshot.pending_count, .name = "s", .partition = "p", .array_free_slots = -1};
	p->time_limit_s = 3600;
	return p;
}

static size_t evaluations(size_t starts, size_t waits)
{
	struct timespec before, after;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
	struct schedule_result *result = schedule_run(&snapshot, &schedule_policy_default);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
	size_t count = result->evaluations;
	print_message("%zu steps: %zu placings tried, %.1f ms\n", snapshot.pending_count, count,
		      (double)(after.tv_sec - before.tv_sec) * 1e3 + (double)(after.tv_nsec - before.tv_nsec) / 1e6);
	assert_int_equal(result->start_count, starts);
	assert_int_equal(result->wait_count, waits);
	schedule_result_free(result);
	return count;
}

/* The cost of an array depends on its starts, not on its length. */
static void test_array(void **state)
{
	(void)state;
	cluster(1, 0);
	struct schedule_pending *p = step();
	p->array_size = 10000;
	assert_in_range(evaluations(CPUS, 1), 1, 8);
	cluster(NODES, 0);
	p = step();
	p->array_size = 10000000;
	assert_in_range(evaluations(NODES * CPUS, 1), 1, NODES + 8);
}

/* A request that failed once is not tried again. */
static void test_alike(void **state)
{
	(void)state;
	cluster(NODES, CPUS);
	while (snapshot.pending_count < STEPS)
		step()->cpus_per_task = 2;
	assert_in_range(evaluations(0, STEPS), 1, 64);
}

/* A queue of ten thousand different steps in front of a thousand full nodes. */
static void test_different(void **state)
{
	(void)state;
	cluster(NODES, CPUS);
	while (snapshot.pending_count < STEPS) {
		struct schedule_pending *p = step();
		p->mem_mb = (int)snapshot.pending_count;
		p->nodes_min = 1 + (int)snapshot.pending_count % 100;
	}
	assert_in_range(evaluations(0, STEPS), 1, 3 * STEPS + 64);
}

/* A month of nightly maintenance on all nodes, and ten thousand steps for which no night leaves enough time. */
static void test_outages(void **state)
{
	(void)state;
	static struct schedule_outage night[31];
	cluster(NODES, CPUS / 2);
	for (int i = 0; i < 31; i++)
		night[i] = (struct schedule_outage){.id = 1,
						    .node_ids = id,
						    .node_count = NODES,
						    .from = snapshot.now + 36000 + i * 86400.0,
						    .to = i < 30 ? snapshot.now + 43200 + i * 86400.0 : INFINITY,
						    .description = "night"};
	snapshot.outages = night;
	snapshot.outage_count = 31;
	while (snapshot.pending_count < STEPS)
		step()->time_limit_s = snapshot.pending_count % 2 ? 0 : 100000;
	assert_in_range(evaluations(0, STEPS), 1, 64);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_array), cmocka_unit_test(test_alike),
					   cmocka_unit_test(test_different), cmocka_unit_test(test_outages)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
