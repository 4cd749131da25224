/* schedule_world.h - random clusters and queues from a seed, a check of results that uses the rules but no code of the scheduler,
 * and the passing of time: starts become running steps, and end. */
#ifndef ROTA_TESTS_SCHEDULE_WORLD_H
#define ROTA_TESTS_SCHEDULE_WORLD_H

#include <math.h>

#include "jobmgr/schedule/schedule.h"
#include "jobmgr/schedule/schedule_arena.h"
#include "tests/unit/unit.h"

enum { WORLD_NODES = 12, WORLD_UNITS = 4, WORLD_STEPS = 48, WORLD_RUNNING = 512, WORLD_OUTAGES = 4 };

struct world {
	struct schedule_arena *arena;
	uint64_t random;
	struct schedule_snapshot snapshot;
	struct schedule_node node[WORLD_NODES];
	struct schedule_gres gres[WORLD_NODES];
	int free_unit[WORLD_NODES][WORLD_UNITS];
	struct schedule_partition partition[3];
	struct schedule_license license[2];
	struct schedule_outage outage[WORLD_OUTAGES];
	struct schedule_running running[WORLD_RUNNING];
	double really_ends[WORLD_RUNNING];
	bool released; /* reserved resources became free: run the scheduler again after a second */
	struct schedule_pending pending[WORLD_STEPS];
};

static const char *const world_features[8][3] = {{0}, {"a"}, {"b"}, {"a", "b"}, {"c"}, {"a", "c"}, {"b", "c"}, {"a", "b", "c"}};
static const size_t world_feature_count[8] = {0, 1, 1, 2, 1, 2, 2, 3};

/* Constraints, and the sets of features (bits a=1, b=2, c=4) that match. */
static const struct {
	const char *text;
	unsigned matches; /* a bit for each of the 8 sets */
} world_constraints[] = {
	{NULL, 0xff}, {"a", 0xaa}, {"!b", 0x33}, {"a|b", 0xee}, {"a&b|c", 0xf8}, {"!(a|c) & !b", 0x01}, {"(a|b)&!c", 0x0e},
};

static inline int world_roll(struct world *w, int sides)
{
	w->random ^= w->random << 13;
	w->random ^= w->random >> 7;
	w->random ^= w->random << 17;
	return (int)(w->random % (uint64_t)sides);
}

static inline bool world_one_in(struct world *w, int sides)
{
	return world_roll(w, sides) == 0;
}

static inline void *world_copy(struct world *w, const void *bytes, size_t size)
{
	return memcpy(schedule_arena_take(w->arena, 1, size), bytes, size);
}

static inline struct schedule_node *world_node(struct world *w, int id)
{
	return &w->node[id - 1];
}

static inline void world_add_node(struct world *w, int i)
{
	int cpus = 1 + world_roll(w, 8), units = world_one_in(w, 3) ? world_roll(w, WORLD_UNITS + 1) : 0, set = world_roll(w, 8);
	for (int unit = 0; unit < units; unit++)
		w->free_unit[i][unit] = unit;
	w->gres[i] = (struct schedule_gres){"gpu", units, w->free_unit[i], (size_t)units};
	w->node[i] = (struct schedule_node){.id = i + 1,
					    .name = schedule_arena_print(w->arena, "n%d", i * 7 % WORLD_NODES),
					    .cpus = cpus,
					    .mem_mb = cpus * 100,
					    .usable = !world_one_in(w, 10),
					    .features = world_features[set],
					    .feature_count = world_feature_count[set],
					    .gres = &w->gres[i],
					    .gres_count = units > 0,
					    .weight = world_roll(w, 3)};
}

/* Give about a third of the nodes a random power state. */
static inline void world_power_off(struct world *w)
{
	for (size_t i = 0; i < w->snapshot.node_count; i++)
		if (world_one_in(w, 3))
			w->node[i].power = (enum schedule_power)world_roll(w, 3);
}

/* Give nodes images, most of which may be changed, and preparations, and have some steps ask for them. */
static inline void world_add_setups(struct world *w)
{
	static const char *const images[] = {"a", "b", NULL}, *const preps[] = {"m:1", "m:2", NULL, NULL, NULL};
	for (size_t i = 0; i < w->snapshot.node_count; i++) {
		w->node[i].image = images[world_roll(w, 3)];
		w->node[i].prep = preps[world_roll(w, 5)];
		w->node[i].default_image = world_one_in(w, 4) ? NULL : "a";
	}
	for (size_t i = 0; i < w->snapshot.pending_count; i++)
		w->pending[i].image = images[world_roll(w, 3)], w->pending[i].prep = preps[world_roll(w, 5)];
}

static inline void world_add_partition(struct world *w, int i)
{
	int *id = schedule_arena_take(w->arena, w->snapshot.node_count, sizeof *id);
	struct schedule_partition *p = &w->partition[i];
	*p = (struct schedule_partition){.name = schedule_arena_print(w->arena, "p%d", i), .node_ids = id};
	for (size_t k = 0; k < w->snapshot.node_count; k++)
		if (!world_one_in(w, 3))
			id[p->node_count++] = w->node[k].id;
	p->priority = world_roll(w, 2);
	p->state = world_one_in(w, 12) ? SCHEDULE_DOWN : world_one_in(w, 6) ? SCHEDULE_DRAIN : SCHEDULE_UP;
	p->max_time_s = world_one_in(w, 4) ? 300 : 0;
	p->max_nodes = world_one_in(w, 4) ? 2 : 0;
}

static inline void world_ask(struct world *w, struct schedule_pending *p, const char *name, bool gres)
{
	struct schedule_amount amount = {name, 1 + world_roll(w, 2)};
	if (gres) {
		p->gres = world_copy(w, &amount, sizeof amount);
		p->gres_count = 1;
	} else {
		p->licenses = world_copy(w, &amount, sizeof amount);
		p->license_count = 1;
	}
}

static inline void world_add_lists(struct world *w, struct schedule_pending *p)
{
	int id[2] = {1 + world_roll(w, (int)w->snapshot.node_count), 1 + world_roll(w, (int)w->snapshot.node_count)};
	const char *name[2] = {world_node(w, id[0])->name, world_node(w, id[1])->name};
	if (world_one_in(w, 20)) {
		p->nodelist = world_copy(w, name, sizeof name);
		p->nodelist_count = 2;
	}
	if (world_one_in(w, 20)) {
		p->exclude = world_copy(w, name, sizeof name);
		p->exclude_count = 1;
	}
	if (world_one_in(w, 20)) {
		p->other_nodes = world_copy(w, id, sizeof id);
		p->other_nodes_count = 2;
	}
	if (world_one_in(w, 20)) {
		p->data_nodes = world_copy(w, id, sizeof id);
		p->data_nodes_count = 2;
	}
	if (world_one_in(w, 20)) {
		p->same_nodes = world_copy(w, id, sizeof id);
		p->same_nodes_count = id[0] != id[1] ? 2 : 1;
	}
}

static inline void world_add_step(struct world *w, int i)
{
	struct schedule_pending *p = &w->pending[i];
	*p = (struct schedule_pending){.job = 1 + i / 4, .step = i % 4 * 100, .name = "s", .array_free_slots = -1};
	p->partition = w->partition[world_roll(w, (int)w->snapshot.partition_count)].name;
	p->nodes_min = world_one_in(w, 3) ? 1 + world_roll(w, 3) : 0;
	p->nodes_max = world_one_in(w, 3) ? p->nodes_min + world_roll(w, 3) : 0;
	p->ntasks = world_one_in(w, 2) ? 1 + world_roll(w, 6) : 0;
	p->ntasks_per_node = world_one_in(w, 6) ? 1 + world_roll(w, 2) : 0;
	p->cpus_per_task = world_roll(w, 3);
	p->mem_mb = world_one_in(w, 4) ? 10 + world_roll(w, 300) : 0;
	p->mem_per_cpu_mb = world_one_in(w, 4) ? 50 + world_roll(w, 100) : 0;
	p->exclusive = world_one_in(w, 10);
	p->constraint = world_constraints[world_one_in(w, 5) ? world_roll(w, 7) : 0].text;
	p->time_limit_s = world_one_in(w, 8) ? 0 : 1 + world_roll(w, 400);
	p->time_min_s = world_one_in(w, 6) ? 1 + world_roll(w, 200) : 0;
	p->deadline_at = world_one_in(w, 10) ? w->snapshot.now + world_roll(w, 600) : 0;
	if (world_one_in(w, 5))
		world_ask(w, p, "gpu", true);
	if (world_one_in(w, 5))
		world_ask(w, p, world_one_in(w, 2) ? "x" : "y", false);
	world_add_lists(w, p);
	if (world_one_in(w, 6)) {
		const int skip[] = {1, 3, 4};
		p->array_size = world_roll(w, 12);
		p->array_next = world_roll(w, 3);
		p->array_free_slots = world_one_in(w, 2) ? world_roll(w, 6) : -1;
		p->array_skip = world_copy(w, skip, sizeof skip);
		p->array_skip_count = p->array_size > 4 ? 3 : 0;
	}
}

/* Make two or three steps of one job a gang; some ask for the nodes of the first, or for others. */
static inline void world_add_set(struct world *w, int first)
{
	int count = 2 + world_roll(w, 2), step = w->pending[first].step;
	for (int i = first; i < first + count && i < (int)w->snapshot.pending_count; i++) {
		struct schedule_pending *p = &w->pending[i];
		p->with_count = world_one_in(w, 8) ? count + 1 : count;
		p->with_set = step;
		p->array_free_slots = -1;
		if (i > first && world_one_in(w, 3)) {
			p->same_as = world_copy(w, &step, sizeof step);
			p->same_as_count = 1;
		} else if (i > first && world_one_in(w, 3)) {
			p->other_than = world_copy(w, &step, sizeof step);
			p->other_than_count = 1;
		}
	}
}

/* Add a running row, and count its resources as used. */
static inline void world_hold(struct world *w, struct schedule_running row, double really_ends)
{
	struct schedule_node *node = world_node(w, row.node_id);
	struct schedule_gres *gres = &w->gres[row.node_id - 1];
	assert_in_range(w->snapshot.running_count, 0, WORLD_RUNNING - 1);
	w->really_ends[w->snapshot.running_count] = really_ends;
	w->running[w->snapshot.running_count++] = row;
	node->cpus_used += row.cpus;
	node->mem_used_mb += row.mem_mb;
	for (size_t i = 0; i < row.gres_count; i++)
		for (size_t u = 0; u < row.gres[i].count; u++)
			for (size_t k = 0; k < gres->free_count; k++)
				if (gres->free[k] == row.gres[i].device[u])
					w->free_unit[row.node_id - 1][k] = gres->free[--gres->free_count];
	for (size_t i = 0; i < row.license_count; i++)
		w->license[strcmp(row.licenses[i].name, "x") != 0].used += row.licenses[i].count;
}

/* Remove the row at an index. */
static inline void world_end(struct world *w, size_t index)
{
	struct schedule_running row = w->running[index];
	struct schedule_gres *gres = &w->gres[row.node_id - 1];
	world_node(w, row.node_id)->cpus_used -= row.cpus;
	world_node(w, row.node_id)->mem_used_mb -= row.mem_mb;
	for (size_t i = 0; i < row.gres_count; i++)
		for (size_t u = 0; u < row.gres[i].count; u++)
			w->free_unit[row.node_id - 1][gres->free_count++] = row.gres[i].device[u];
	for (size_t i = 0; i < row.license_count; i++)
		w->license[strcmp(row.licenses[i].name, "x") != 0].used -= row.licenses[i].count;
	w->snapshot.running_count--;
	w->running[index] = w->running[w->snapshot.running_count];
	w->really_ends[index] = w->really_ends[w->snapshot.running_count];
}

static inline void world_add_running(struct world *w, int i)
{
	int id = 1 + world_roll(w, (int)w->snapshot.node_count);
	struct schedule_node *node = world_node(w, id);
	struct schedule_running row = {.job = 1000 + i, .node_id = id, .attempt = 1};
	int cpus = node->cpus - node->cpus_used;
	if (!cpus)
		return;
	row.cpus = 1 + world_roll(w, cpus);
	row.mem_mb = world_roll(w, (int)(node->mem_mb - node->mem_used_mb) + 1);
	row.ends_at = w->snapshot.now + world_roll(w, 200) - 10;
	double really = fmax(row.ends_at - world_roll(w, 20), w->snapshot.now + 1);
	if (world_one_in(w, 10))
		row.ends_at = INFINITY;
	struct schedule_devices units = {"gpu", world_copy(w, w->free_unit[id - 1], sizeof w->free_unit[0]), 1};
	if (w->gres[id - 1].free_count && world_one_in(w, 2)) {
		row.gres = world_copy(w, &units, sizeof units);
		row.gres_count = 1;
	}
	struct schedule_amount amount = {"x", 1};
	if (w->license[0].used < w->license[0].total && world_one_in(w, 3)) {
		row.licenses = world_copy(w, &amount, sizeof amount);
		row.license_count = 1;
	}
	if (world_one_in(w, 6) && w->snapshot.pending_count) {
		struct schedule_pending *p = &w->pending[world_roll(w, (int)w->snapshot.pending_count)];
		row.reserved = true;
		row.job = p->job;
		row.reserved_for = p->step;
		p->same_nodes = world_copy(w, &id, sizeof id);
		p->same_nodes_count = 1;
	}
	world_hold(w, row, really);
}

/* Add an outage of some nodes, with or without an end. One in three lets some steps in. */
static inline void world_add_outage(struct world *w)
{
	struct schedule_outage *outage = &w->outage[w->snapshot.outage_count++];
	int *id = schedule_arena_take(w->arena, w->snapshot.node_count, sizeof *id);
	*outage = (struct schedule_outage){.node_ids = id, .description = "an outage"};
	outage->id = world_one_in(w, 3) ? 0 : 1 + world_roll(w, 2);
	outage->from = w->snapshot.now + world_roll(w, 400) - 100;
	outage->to = world_one_in(w, 8) ? INFINITY : outage->from + 1 + world_roll(w, 300);
	for (size_t k = 0; k < w->snapshot.node_count; k++)
		if (world_one_in(w, 2))
			id[outage->node_count++] = w->node[k].id;
}

static inline void world_admit(struct world *w, struct schedule_pending *p)
{
	int id = 1 + world_roll(w, 2);
	p->admitted = world_copy(w, &id, sizeof id);
	p->admitted_count = 1;
}

static inline struct world *world_new(uint64_t seed)
{
	struct world *w = calloc(1, sizeof *w);
	w->arena = schedule_arena_new();
	w->random = seed * 0x9e3779b97f4a7c15u + 88172645463325252u;
	w->snapshot = (struct schedule_snapshot){.now = 1e9 + 0.25,
						 .nodes = w->node,
						 .partitions = w->partition,
						 .licenses = w->license,
						 .license_count = 2,
						 .outages = w->outage,
						 .running = w->running,
						 .pending = w->pending};
	w->license[0] = (struct schedule_license){"x", world_roll(w, 4), 0};
	w->license[1] = (struct schedule_license){"y", world_roll(w, 3), 0};
	w->snapshot.node_count = 1 + (size_t)world_roll(w, WORLD_NODES);
	for (size_t i = 0; i < w->snapshot.node_count; i++)
		world_add_node(w, (int)i);
	w->snapshot.partition_count = 1 + (size_t)world_roll(w, 3);
	for (size_t i = 0; i < w->snapshot.partition_count; i++)
		world_add_partition(w, (int)i);
	w->snapshot.pending_count = (size_t)world_roll(w, WORLD_STEPS + 1);
	for (size_t i = 0; i < w->snapshot.pending_count; i++)
		world_add_step(w, (int)i);
	for (int i = 0; i < (int)w->snapshot.pending_count; i += 4)
		if (world_one_in(w, 2))
			world_add_set(w, i);
	for (int i = world_roll(w, 24); i--;)
		world_add_running(w, i);
	for (int i = world_roll(w, WORLD_OUTAGES + 1); i--;)
		world_add_outage(w);
	for (size_t i = 0; i < w->snapshot.pending_count; i++)
		if (world_one_in(w, 5))
			world_admit(w, &w->pending[i]);
	return w;
}

static inline void world_free(struct world *w)
{
	schedule_arena_free(w->arena);
	free(w);
}

/* Turn starts into running rows: each takes over what was reserved for it, and ends at some time before its limit. */
static inline void world_start(struct world *w, const struct schedule_result *result)
{
	for (size_t i = 0; i < result->start_count; i++) {
		for (size_t r = 0; r < w->snapshot.running_count;) {
			const struct schedule_running *row = &w->running[r++];
			if (!row->reserved || row->job != result->starts[i].job || row->reserved_for != result->starts[i].step)
				continue;
			world_end(w, --r);
			w->released = true;
		}
	}
	for (size_t i = 0; i < result->start_count; i++) {
		const struct schedule_start *start = &result->starts[i];
		const struct schedule_pending *p = &w->pending[start->pending];
		int most = start->time_limit_s ? (int)start->time_limit_s : 500;
		double really = w->snapshot.now + (world_one_in(w, 2) ? most : 1 + world_roll(w, most));
		for (size_t k = 0; k < start->share_count; k++) {
			const struct schedule_share *share = &start->shares[k];
			struct schedule_running row = {
				.job = 100000 + p->job, .step = p->step, .node_id = share->node_id, .cpus = share->cpus};
			struct schedule_devices *units = world_copy(w, share->gres, share->gres_count * sizeof *units);
			for (size_t g = 0; g < share->gres_count; g++)
				units[g].device = world_copy(w, units[g].device, units[g].count * sizeof *units[g].device);
			row.mem_mb = share->mem_mb;
			row.gres = units;
			row.gres_count = share->gres_count;
			row.licenses = p->licenses;
			row.license_count = k ? 0 : p->license_count;
			row.ends_at = start->time_limit_s ? w->snapshot.now + (double)start->time_limit_s : INFINITY;
			world_hold(w, row, really);
		}
	}
}

/* Remove started steps and elements from the pending ones. */
static inline void world_leave(struct world *w, const struct schedule_result *result)
{
	size_t count = 0;
	bool gone[WORLD_STEPS] = {0};
	for (size_t i = 0; i < result->start_count; i++) {
		struct schedule_pending *p = &w->pending[result->starts[i].pending];
		p->array_next = result->starts[i].position + 1;
		gone[result->starts[i].pending] = p->array_size == 0 || p->with_count;
	}
	for (size_t i = 0; i < w->snapshot.pending_count; i++)
		if (!gone[i])
			w->pending[count++] = w->pending[i];
	w->snapshot.pending_count = count;
}

/* Advance time to the next end of a step or an outage; false: there is none. */
static inline bool world_pass(struct world *w)
{
	double next = w->released ? w->snapshot.now + 1 : INFINITY;
	w->released = false;
	for (size_t i = 0; i < w->snapshot.running_count; i++)
		next = fmin(next, w->really_ends[i]);
	for (size_t i = 0; i < w->snapshot.outage_count; i++)
		if (w->outage[i].to > w->snapshot.now)
			next = fmin(next, w->outage[i].to);
	if (isinf(next))
		return false;
	w->snapshot.now = fmax(w->snapshot.now, next);
	for (size_t i = 0; i < w->snapshot.running_count;)
		if (w->really_ends[i] <= w->snapshot.now)
			world_end(w, i);
		else
			i++;
	return true;
}

#endif
