/* moves.c - draws a load, and lets the scheduler work through it, with or without moves: `moves none|room|all NODES DAYS LOAD SEED`.
 * LOAD is the part of the CPU time of the cluster in DAYS that the steps take.
 *
 * Called by: tests/bench/moves.py. It uses only jobmgr/schedule. `room` makes room for steps that wait, `all` also empties nodes.
 * Invariants:
 *  - The clusters are those of plan.c: 64 CPUs a node. Equal arguments give equal lines, `NAME VALUE` each.
 *  - A step that moves loses its whole cost, and holds its new node from the decision on. The step for which it makes room holds its nodes
 *    from then on, too, and computes after half of the cost, which is the time to save.
 *  - Nodes that have been idle for IDLE_S are powered off in all modes. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jobmgr/schedule/schedule_arena.h"
#include "jobmgr/schedule/schedule_moves.h"
#include "lib/err.h"

enum { CPUS = 64, QUEUE_MOST = 200, DAY = 86400, HOUR = 3600 };
enum { LOOK_S = 60, SAVED_S = 300, IDLE_S = 600, BOOT_S = 180 }; /* seconds */
enum { WATTS_OFF = 10, WATTS_IDLE = 200, WATTS_OF_CPU = 4 };	 /* of a node, and of a CPU in use in addition */

static const double epoch = 1e9;

struct job {
	double arrives, runs, cost, starts, ends, limit_at; /* seconds; starts: when it begins to compute */
	int limit, nodes, cpus;				    /* CPUs on each node */
	int *on;					    /* indexes of its nodes, while it runs */
	bool saves;					    /* it can be saved */
};

struct machine {
	enum schedule_power power;
	int used;
	double since; /* when it became idle, began to boot, or was powered off */
};

static struct {
	uint64_t random;
	double now, looked, joules;
	struct machine *machines;
	int machine_count, moves_room, moves_empty;
	struct job *jobs, **queue, **running;
	size_t job_count, arrived, queue_count, running_count;
	double lost;
	bool makes_room, empties;
} sim;

/* drawing the load */

static double draw(void)
{
	sim.random ^= sim.random << 13;
	sim.random ^= sim.random >> 7;
	sim.random ^= sim.random << 17;
	return (double)(sim.random >> 11) / 9007199254740992.0;
}

static double draw_normal(void)
{
	double radius = sqrt(-2 * log(1 - draw()));
	return radius * cos(2 * 3.14159265358979 * draw());
}

/* More is submitted by day than by night, and less at weekends. */
static double draw_arrival(int days)
{
	for (;;) {
		double at = draw() * days * DAY, hour = fmod(at, DAY) / HOUR;
		double rate = 0.2 + 0.8 * (hour > 8 && hour < 18);
		if ((long)(at / DAY) % 7 >= 5)
			rate = 0.15;
		if (draw() < rate)
			return at;
	}
}

/* One step in twenty has whole nodes. Runtimes have a median of half an hour. Limits are 1.1 to 4 times the runtime, plus a minute. */
static void job_draw(struct job *job, int days)
{
	bool is_wide = draw() < 0.05;
	int widest = sim.machine_count / 2 > 2 ? sim.machine_count / 2 : 2;
	*job = (struct job){.arrives = epoch + draw_arrival(days)};
	job->nodes = is_wide ? 2 + (int)(draw() * (widest - 1)) : 1;
	job->cpus = is_wide ? CPUS : 1 << (int)(draw() * 6);
	job->runs = fmin(fmax(1800 * exp(1.5 * draw_normal()), 60), 2 * DAY);
	job->limit = (int)(job->runs * (1.1 + 2.9 * draw())) + 60;
	job->saves = draw() < 0.7;
	job->cost = 5 + 55 * draw();
	job->on = xcalloc((size_t)job->nodes, sizeof *job->on);
}

static int compare_arrival(const void *a, const void *b)
{
	const struct job *x = a, *y = b;
	return (x->arrives > y->arrives) - (x->arrives < y->arrives);
}

static void load_draw(int days, double load)
{
	double left = load * days * DAY * sim.machine_count * CPUS;
	size_t room = 0;
	while (left > 0) {
		if (sim.job_count == room)
			sim.jobs = xrealloc(sim.jobs, (room = 2 * room + 1024) * sizeof *sim.jobs);
		job_draw(&sim.jobs[sim.job_count], days);
		left -= sim.jobs[sim.job_count].runs * sim.jobs[sim.job_count].nodes * sim.jobs[sim.job_count].cpus;
		sim.job_count++;
	}
	qsort(sim.jobs, sim.job_count, sizeof *sim.jobs, compare_arrival);
	sim.queue = xcalloc(sim.job_count, sizeof *sim.queue);
	sim.running = xcalloc(sim.job_count, sizeof *sim.running);
}

/* what the scheduler is given */

static struct schedule_pending request(const struct job *job)
{
	return (struct schedule_pending){.job = job - sim.jobs,
					 .name = "s",
					 .partition = "main",
					 .array_free_slots = -1,
					 .with_set = -1,
					 .nodes_min = job->nodes,
					 .ntasks = job->nodes,
					 .ntasks_per_node = 1,
					 .cpus_per_task = job->cpus,
					 .time_limit_s = job->limit};
}

static void snapshot_nodes(struct schedule_snapshot *s, struct schedule_arena *arena)
{
	struct schedule_node *nodes = schedule_arena_take(arena, (size_t)sim.machine_count, sizeof *nodes);
	struct schedule_partition *partition = schedule_arena_take(arena, 1, sizeof *partition);
	int *ids = schedule_arena_take(arena, (size_t)sim.machine_count, sizeof *ids);
	for (int i = 0; i < sim.machine_count; i++) {
		ids[i] = i;
		nodes[i] = (struct schedule_node){.id = i,
						  .name = schedule_arena_print(arena, "n%d", i),
						  .cpus = CPUS,
						  .cpus_used = sim.machines[i].used,
						  .mem_mb = 100000,
						  .usable = true,
						  .power = sim.machines[i].power};
	}
	*partition = (struct schedule_partition){.name = "main", .node_ids = ids, .node_count = (size_t)sim.machine_count};
	s->nodes = nodes;
	s->node_count = (size_t)sim.machine_count;
	s->partitions = partition;
	s->partition_count = 1;
}

static struct schedule_snapshot snapshot_make(struct schedule_arena *arena)
{
	struct schedule_snapshot s = {.now = sim.now};
	struct schedule_pending *pending = schedule_arena_take(arena, sim.queue_count, sizeof *pending);
	size_t rows = 0;
	snapshot_nodes(&s, arena);
	for (size_t i = 0; i < sim.queue_count && i < QUEUE_MOST; i++)
		pending[s.pending_count++] = request(sim.queue[i]);
	for (size_t i = 0; i < sim.running_count; i++)
		rows += (size_t)sim.running[i]->nodes;
	struct schedule_running *running = schedule_arena_take(arena, rows, sizeof *running);
	for (size_t i = 0; i < sim.running_count; i++) {
		const struct job *job = sim.running[i];
		for (int k = 0; k < job->nodes; k++)
			running[s.running_count++] = (struct schedule_running){.job = job - sim.jobs,
									       .attempt = 1,
									       .node_id = job->on[k],
									       .cpus = job->cpus,
									       .ends_at = job->limit_at};
	}
	s.pending = pending;
	s.running = running;
	return s;
}

/* what becomes of its decisions */

static void machine_use(int at, int cpus)
{
	struct machine *machine = &sim.machines[at];
	machine->used += cpus;
	if (machine->used < 0 || machine->used > CPUS || (cpus > 0 && machine->power != SCHEDULE_POWER_ON))
		die("node %d has %d CPUs in use", at, machine->used);
	if (machine->used == 0)
		machine->since = sim.now;
}

/* A step gets its nodes, and begins to compute after a delay in seconds. */
static void job_start(const struct schedule_start *start, double delay)
{
	struct job *job = &sim.jobs[start->job];
	size_t at = 0;
	for (size_t i = 0; i < start->share_count; i++) {
		job->on[i] = start->shares[i].node_id;
		machine_use(job->on[i], job->cpus);
	}
	job->starts = sim.now + delay;
	job->ends = job->starts + job->runs;
	job->limit_at = job->starts + job->limit;
	sim.running[sim.running_count++] = job;
	while (sim.queue[at] != job)
		at++;
	sim.queue_count--;
	memmove(&sim.queue[at], &sim.queue[at + 1], (sim.queue_count - at) * sizeof(struct job *));
}

/* Steps leave their nodes before any of them arrives elsewhere. */
static void move_make(const struct schedule_move *move)
{
	double delay = 0;
	for (size_t i = 0; i < move->count; i++)
		machine_use(move->list[i].from_id, -move->list[i].cpus);
	for (size_t i = 0; i < move->count; i++) {
		struct job *job = &sim.jobs[move->list[i].mover->request.job];
		job->on[0] = move->list[i].to_id;
		machine_use(job->on[0], job->cpus);
		job->ends += job->cost;
		job->limit_at = sim.now + job->limit;
		sim.lost += job->cost * job->cpus;
		delay = fmax(delay, job->cost / 2);
	}
	for (size_t i = 0; i < move->start_count; i++)
		job_start(&move->starts[i], delay);
	*(move->kind == SCHEDULE_MOVE_ROOM ? &sim.moves_room : &sim.moves_empty) += 1;
}

/* Look for moves after the starts of a cycle, as the leader does. A step can be moved only after SAVED_S, when it counts as saved once. */
static void moves_look(struct schedule_arena *arena)
{
	struct schedule_snapshot s = snapshot_make(arena);
	struct schedule_result *result = schedule_run(&s, &schedule_policy_default);
	struct schedule_mover *movers = schedule_arena_take(arena, sim.running_count, sizeof *movers);
	size_t count = 0;
	for (size_t i = 0; i < sim.running_count; i++)
		if (sim.running[i]->saves && sim.running[i]->nodes == 1 && sim.now > sim.running[i]->starts + SAVED_S)
			movers[count++] = (struct schedule_mover){request(sim.running[i]), sim.running[i]->cost, IDLE_S};
	struct schedule_moves moves = schedule_moves(arena, &s, &schedule_policy_default, result, movers, count,
						     (struct schedule_moves_bound){.waits = 4});
	for (size_t i = 0; result->start_count == 0 && i < moves.count; i++)
		if (moves.list[i].kind == SCHEDULE_MOVE_EMPTY ? sim.empties : sim.makes_room)
			move_make(&moves.list[i]);
	schedule_result_free(result);
	sim.looked = sim.now;
}

static void cycle_run(void)
{
	struct schedule_arena *arena = schedule_arena_new();
	struct schedule_snapshot s = snapshot_make(arena);
	struct schedule_result *result = schedule_run(&s, &schedule_policy_default);
	for (size_t i = 0; i < result->start_count; i++)
		job_start(&result->starts[i], 0);
	for (size_t i = 0; i < result->wake_count; i++)
		sim.machines[result->wake_ids[i]] = (struct machine){SCHEDULE_POWER_COMING, 0, sim.now};
	schedule_result_free(result);
	if ((sim.makes_room || sim.empties) && sim.now >= sim.looked + LOOK_S)
		moves_look(arena);
	schedule_arena_free(arena);
}

/* the passing of time */

static double machine_changes_at(const struct machine *machine)
{
	switch (machine->power) {
	case SCHEDULE_POWER_ON:
		return machine->used ? INFINITY : machine->since + IDLE_S;
	case SCHEDULE_POWER_COMING:
		return machine->since + BOOT_S;
	case SCHEDULE_POWER_OFF:
		break;
	}
	return INFINITY;
}

static double next_time(void)
{
	double next = sim.arrived < sim.job_count ? sim.jobs[sim.arrived].arrives : INFINITY;
	for (size_t i = 0; i < sim.running_count; i++)
		next = fmin(next, sim.running[i]->ends);
	for (int i = 0; i < sim.machine_count; i++)
		next = fmin(next, machine_changes_at(&sim.machines[i]));
	return next;
}

static void time_pass(double until)
{
	for (int i = 0; i < sim.machine_count; i++) {
		const struct machine *machine = &sim.machines[i];
		double watts = machine->power == SCHEDULE_POWER_OFF ? WATTS_OFF : WATTS_IDLE + WATTS_OF_CPU * machine->used;
		sim.joules += watts * (until - sim.now);
	}
	sim.now = until;
}

static void events_apply(void)
{
	while (sim.arrived < sim.job_count && sim.jobs[sim.arrived].arrives <= sim.now)
		sim.queue[sim.queue_count++] = &sim.jobs[sim.arrived++];
	for (size_t i = 0; i < sim.running_count;) {
		struct job *job = sim.running[i];
		if (job->ends > sim.now) {
			i++;
			continue;
		}
		for (int k = 0; k < job->nodes; k++)
			machine_use(job->on[k], -job->cpus);
		sim.running[i] = sim.running[--sim.running_count];
	}
	for (int i = 0; i < sim.machine_count; i++)
		if (machine_changes_at(&sim.machines[i]) <= sim.now)
			sim.machines[i] = (struct machine){
				sim.machines[i].power == SCHEDULE_POWER_ON ? SCHEDULE_POWER_OFF : SCHEDULE_POWER_ON, 0, sim.now};
}

static void result_print(double from)
{
	double wait = 0, wide = 0, weighted = 0, cpus = 0;
	size_t wides = 0;
	for (size_t i = 0; i < sim.job_count; i++) {
		const struct job *job = &sim.jobs[i];
		double waited = job->starts - job->arrives, weight = job->cpus * job->nodes;
		wait += waited;
		wide += job->nodes > 1 ? waited : 0;
		wides += job->nodes > 1;
		weighted += waited * weight;
		cpus += weight;
	}
	printf("steps %zu\nwide %zu\ndays %.3f\n", sim.job_count, wides, (sim.now - from) / DAY);
	printf("wait_s %.1f\nwait_wide_s %.1f\n", wait / (double)sim.job_count, wides ? wide / (double)wides : 0);
	printf("wait_cpu_s %.1f\nenergy_kwh %.1f\n", weighted / cpus, sim.joules / 3.6e6);
	printf("moves_room %d\nmoves_empty %d\nlost_cpu_h %.2f\n", sim.moves_room, sim.moves_empty, sim.lost / HOUR);
}

int main(int argc, char **argv)
{
	if (argc != 6)
		return fputs("Usage: moves none|room|all NODES DAYS LOAD SEED\n", stderr) < 0 ? 1 : 2;
	sim.makes_room = strcmp(argv[1], "none") != 0;
	sim.empties = strcmp(argv[1], "all") == 0;
	sim.machine_count = atoi(argv[2]);
	sim.machines = xcalloc((size_t)sim.machine_count, sizeof *sim.machines);
	sim.random = strtoull(argv[5], NULL, 10) * 0x9e3779b97f4a7c15u + 88172645463325252u;
	load_draw(atoi(argv[3]), strtod(argv[4], NULL));
	sim.now = epoch;
	for (int i = 0; i < sim.machine_count; i++)
		sim.machines[i].since = epoch;
	while (sim.arrived < sim.job_count || sim.queue_count || sim.running_count) {
		double next = next_time();
		if (isinf(next))
			die("%zu steps wait for ever", sim.queue_count);
		time_pass(next);
		events_apply();
		cycle_run();
	}
	result_print(epoch);
	return 0;
}
