/* substep_pool.c - allocates CPUs, memory and generic resources of the step's allocation on one node to sub-steps.
 *
 * Called by: substep_engine.c, and substep_nodes.c for other nodes.
 * Invariants:
 * - A CPU or a unit of a generic resource belongs to one sub-step at most. A sub-step with `overlap` holds no CPU.
 * - The shares of sub-steps only keep order among the user's own programs. The kernel enforces the limits of the whole step
 *   alone. */
#include "procmgr/stepmgr/substep_pool.h"

#include <hwloc.h>
#include <hwloc/glibc-sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/text.h"

/* One unit of a generic resource, such as gpu 3. */
struct unit {
	char name[64], device[64];
	bool held;
};

struct substep_pool {
	int cpus, cpus_free;
	int *number; /* CPU number of each CPU of the pool, or -1 where the step is not pinned */
	bool *held;
	int64_t mem_mb, mem_free;
	struct unit *units;
	int unit_count;
	hwloc_topology_t topology; /* NULL until a sub-step is bound to cores or sockets */
};

/* Set the CPU number of each CPU of the pool: those that this process may use, if they are as many as the allocation has; else
 * -1. */
static void find_numbers(struct substep_pool *pool)
{
	cpu_set_t set;
	bool known = sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) == pool->cpus;
	for (int i = 0, cpu = 0; i < pool->cpus; i++) {
		while (known && !CPU_ISSET(cpu, &set))
			cpu++;
		pool->number[i] = known ? cpu++ : -1;
	}
}

static void add_unit(struct substep_pool *pool, const char *name, const char *device)
{
	pool->units = xrealloc(pool->units, (unsigned long)(pool->unit_count + 1) * sizeof *pool->units);
	struct unit *u = &pool->units[pool->unit_count++];
	snprintf(u->name, sizeof u->name, "%s", name);
	snprintf(u->device, sizeof u->device, "%s", device);
	u->held = false;
}

/* Read "gpu:0+3,ssd:1": the devices of each resource. */
static void read_gres(struct substep_pool *pool, const char *gres)
{
	char *copy = xstrdup(gres), *save, *inner;
	for (char *part = strtok_r(copy, ",", &save); part; part = strtok_r(NULL, ",", &save)) {
		char *colon = strchr(part, ':');
		if (!colon)
			continue;
		*colon = '\0';
		for (char *device = strtok_r(colon + 1, "+", &inner); device; device = strtok_r(NULL, "+", &inner))
			add_unit(pool, part, device);
	}
	free(copy);
}

struct substep_pool *substep_pool_new(int cpus, int64_t mem_mb, const char *gres)
{
	struct substep_pool *pool = xcalloc(1, sizeof *pool);
	pool->cpus = pool->cpus_free = cpus;
	pool->number = xcalloc((unsigned long)cpus + 1, sizeof *pool->number);
	pool->held = xcalloc((unsigned long)cpus + 1, sizeof *pool->held);
	pool->mem_mb = pool->mem_free = mem_mb;
	find_numbers(pool);
	read_gres(pool, gres);
	return pool;
}

void substep_pool_free(struct substep_pool *pool)
{
	if (pool->topology)
		hwloc_topology_destroy(pool->topology);
	free(pool->number);
	free(pool->held);
	free(pool->units);
	free(pool);
}

int substep_pool_cpus(const struct substep_pool *pool, const struct substep_spec *spec, int ntasks)
{
	if (spec->overlap)
		return 0;
	return spec->exclusive ? pool->cpus : ntasks * spec->cpus_per_task;
}

int substep_pool_room(const struct substep_pool *pool, const struct substep_spec *spec, int most)
{
	int room = pool->cpus_free / spec->cpus_per_task;
	return spec->overlap || room > most ? most : room;
}

/* Count the units of a generic resource; only the free ones if `free_only`. */
static int units_of(const struct substep_pool *pool, const char *name, bool free_only)
{
	int count = 0;
	for (int i = 0; i < pool->unit_count; i++)
		count += strcmp(pool->units[i].name, name) == 0 && !(free_only && pool->units[i].held);
	return count;
}

/* Call `each` for every resource of a request like "gpu:2,ssd" until it returns false. Returns whether it never did. */
static bool each_gres(const char *gres, bool (*each)(const char *name, long count, void *arg), void *arg)
{
	char *copy = xstrdup(gres), *save;
	bool good = true;
	for (char *part = strtok_r(copy, ",", &save); good && part; part = strtok_r(NULL, ",", &save)) {
		char *colon = strchr(part, ':'), *end = NULL;
		long count = colon ? strtol(colon + 1, &end, 10) : 1;
		if (colon)
			*colon = '\0';
		good = each(part, end && *end ? -1 : count, arg);
	}
	free(copy);
	return good;
}

struct gres_check {
	const struct substep_pool *pool;
	bool *unit; /* by index of the unit in the pool: the unit has been chosen */
	bool free_only;
	struct err *e;
};

static bool choose_units(const char *name, long count, void *arg)
{
	struct gres_check *c = arg;
	for (int i = 0; i < c->pool->unit_count && count > 0; i++) {
		bool free = !(c->free_only && c->pool->units[i].held) && !c->unit[i];
		bool fits = free && strcmp(c->pool->units[i].name, name) == 0;
		c->unit[i] = c->unit[i] || fits;
		count -= fits;
	}
	return count == 0;
}

/* Choose `count` units of a resource that a request names. If the request names the resource twice, both numbers add up. */
static bool check_gres(const char *name, long count, void *arg)
{
	struct gres_check *c = arg;
	return choose_units(name, count, arg) ||
	       err_set(c->e, "\"gres\" asks for %s:%ld; the allocation has %d of them on this node", name, count,
		       units_of(c->pool, name, false));
}

int substep_pool_most(const struct substep_pool *pool, const struct substep_spec *spec)
{
	return spec->overlap ? spec->ntasks : pool->cpus / spec->cpus_per_task;
}

bool substep_pool_can(const struct substep_pool *pool, const struct substep_spec *spec, int ntasks, struct err *e)
{
	int64_t cpus = spec->overlap ? 0 : (int64_t)ntasks * spec->cpus_per_task;
	if (cpus > pool->cpus)
		return err_set(e, "the sub-step needs %lld CPU%s (%d task%s with %d each); the allocation has %d on this node",
			       (long long)cpus, text_plural(cpus), ntasks, text_plural(ntasks), spec->cpus_per_task, pool->cpus);
	if (pool->mem_mb > 0 && spec->mem_mb > pool->mem_mb)
		return err_set(e, "the sub-step needs %lld MiB of memory; the allocation has %lld on this node",
			       (long long)spec->mem_mb, (long long)pool->mem_mb);
	struct gres_check check = {pool, xcalloc((unsigned long)pool->unit_count + 1, sizeof(bool)), false, e};
	bool can = each_gres(spec->gres, check_gres, &check);
	free(check.unit);
	return can;
}

static bool take_units(struct substep_pool *pool, const struct substep_spec *spec, struct substep_share *share)
{
	struct gres_check c = {pool, xcalloc((unsigned long)pool->unit_count + 1, sizeof(bool)), true, NULL};
	bool taken = each_gres(spec->gres, choose_units, &c);
	for (int i = 0; taken && i < pool->unit_count; i++)
		pool->units[i].held = pool->units[i].held || c.unit[i];
	if (!taken)
		free(c.unit);
	share->unit = taken ? c.unit : NULL;
	return taken;
}

static void take_cpus(struct substep_pool *pool, int count, struct substep_share *share)
{
	share->cpus = count;
	share->cpu = xcalloc((unsigned long)pool->cpus + 1, sizeof *share->cpu);
	pool->cpus_free -= count;
	for (int i = 0; count > 0; i++) {
		if (pool->held[i])
			continue;
		pool->held[i] = share->cpu[i] = true;
		count--;
	}
}

bool substep_pool_take(struct substep_pool *pool, const struct substep_spec *spec, int ntasks, struct substep_share *share,
		       const char **reason)
{
	int cpus = substep_pool_cpus(pool, spec, ntasks);
	*share = (struct substep_share){0};
	*reason = cpus > pool->cpus_free ? "cpus" : pool->mem_mb > 0 && spec->mem_mb > pool->mem_free ? "memory" : "";
	if (**reason)
		return false;
	if (*spec->gres && !take_units(pool, spec, share)) {
		*reason = "gres";
		return false;
	}
	if (cpus > 0)
		take_cpus(pool, cpus, share);
	share->mem_mb = spec->mem_mb;
	pool->mem_free -= spec->mem_mb;
	return true;
}

static json_t *indexes_json(const bool *chosen, int count)
{
	json_t *list = json_array();
	for (int i = 0; chosen && i < count; i++)
		if (chosen[i])
			json_array_append_new(list, json_integer(i));
	return list;
}

json_t *substep_pool_share_json(const struct substep_pool *pool, const struct substep_share *share)
{
	return json_pack("{s:o, s:o, s:I}", "cpu", indexes_json(share->cpu, pool->cpus), "unit",
			 indexes_json(share->unit, pool->unit_count), "mem", (json_int_t)share->mem_mb);
}

/* Read a JSON list of indexes below `count`. Returns an array of `count` members, true for each index in the list, malloc'ed;
 * *named is the number of those. */
static bool *read_indexes(const json_t *list, int count, int *named)
{
	bool *chosen = xcalloc((unsigned long)count + 1, sizeof *chosen);
	size_t i;
	json_t *index;
	*named = 0;
	json_array_foreach (list, i, index) {
		json_int_t at = json_integer_value(index);
		if (at < 0 || at >= count || chosen[at])
			continue;
		chosen[at] = true;
		++*named;
	}
	return chosen;
}

void substep_pool_claim(struct substep_pool *pool, const json_t *described, struct substep_share *share)
{
	int units;
	share->cpu = read_indexes(json_object_get(described, "cpu"), pool->cpus, &share->cpus);
	share->unit = read_indexes(json_object_get(described, "unit"), pool->unit_count, &units);
	share->mem_mb = json_integer_value(json_object_get(described, "mem"));
	for (int i = 0; i < pool->cpus; i++)
		pool->held[i] = pool->held[i] || share->cpu[i];
	for (int i = 0; i < pool->unit_count; i++)
		pool->units[i].held = pool->units[i].held || share->unit[i];
	pool->cpus_free -= share->cpus;
	pool->mem_free -= share->mem_mb;
}

void substep_pool_give(struct substep_pool *pool, struct substep_share *share)
{
	for (int i = 0; share->cpu && i < pool->cpus; i++)
		if (share->cpu[i])
			pool->held[i] = false;
	for (int i = 0; share->unit && i < pool->unit_count; i++)
		if (share->unit[i])
			pool->units[i].held = false;
	pool->cpus_free += share->cpus;
	pool->mem_free += share->mem_mb;
	free(share->cpu);
	free(share->unit);
	*share = (struct substep_share){0};
}

bool substep_pool_has_cpus(const struct substep_pool *pool)
{
	return pool->cpus_free > 0;
}

/* Add to `set` all CPUs of the core or socket that has CPU `number`. */
static void add_object(struct substep_pool *pool, hwloc_obj_type_t type, int number, cpu_set_t *set)
{
	hwloc_obj_t unit, object;
	CPU_SET(number, set);
	if (!pool->topology && (hwloc_topology_init(&pool->topology) < 0 || hwloc_topology_load(pool->topology) < 0))
		return;
	unit = hwloc_get_pu_obj_by_os_index(pool->topology, (unsigned)number);
	object = unit ? hwloc_get_ancestor_obj_by_type(pool->topology, type, unit) : NULL;
	for (int cpu = object ? hwloc_bitmap_first(object->cpuset) : -1; cpu >= 0; cpu = hwloc_bitmap_next(object->cpuset, cpu))
		CPU_SET(cpu, set);
}

/* Count the CPUs of a list such as "0-3,8", and set *cpu to the one at `index`, unless the list is shorter. */
static int map_entry(const char *map, int index, int *cpu)
{
	int count = 0;
	do {
		char *end;
		int first = (int)strtol(map, &end, 10), last = *end == '-' ? (int)strtol(end + 1, &end, 10) : first;
		if (index >= count && index - count <= last - first)
			*cpu = first + index - count;
		count += last - first + 1;
		map = end;
	} while (*map++ == ',');
	return count;
}

/* Add to `set` the CPU of the map to which task `index` is bound. If there are more tasks than CPUs in the map, the map is used
 * from its first CPU again. substep_spec.c has checked the map. */
static bool bind_map(const char *map, int index, cpu_set_t *set)
{
	int cpu = 0;
	map_entry(map, index % map_entry(map, 0, &cpu), &cpu);
	CPU_SET(cpu, set);
	return true;
}

bool substep_pool_bind(const struct substep_pool *pool, const struct substep_spec *spec, const struct substep_share *share,
		       int index, cpu_set_t *set)
{
	CPU_ZERO(set);
	if (strncmp(spec->cpu_bind, "map:", 4) == 0)
		return bind_map(spec->cpu_bind + 4, index, set);
	if (strcmp(spec->cpu_bind, "none") == 0 || !share->cpu || pool->number[0] < 0)
		return false;
	hwloc_obj_type_t type = strcmp(spec->cpu_bind, "sockets") == 0 ? HWLOC_OBJ_PACKAGE : HWLOC_OBJ_CORE;
	bool threads = strcmp(spec->cpu_bind, "threads") == 0;
	int first = index * spec->cpus_per_task, seen = 0;
	for (int i = 0; i < pool->cpus; i++) {
		if (!share->cpu[i])
			continue;
		if (seen >= first && seen < first + spec->cpus_per_task) {
			if (threads)
				CPU_SET(pool->number[i], set);
			else
				add_object((struct substep_pool *)pool, type, pool->number[i], set);
		}
		seen++;
	}
	return CPU_COUNT(set) > 0;
}

char *substep_pool_devices(const struct substep_pool *pool, const struct substep_share *share)
{
	char *text = xstrdup("");
	const char *name = "";
	for (int i = 0; share->unit && i < pool->unit_count; i++) {
		const struct unit *u = &pool->units[i];
		if (!share->unit[i])
			continue;
		bool same = strcmp(name, u->name) == 0;
		char *longer = same ? xasprintf("%s+%s", text, u->device)
				    : xasprintf("%s%s%s:%s", text, *text ? "," : "", u->name, u->device);
		free(text);
		text = longer;
		name = u->name;
	}
	return text;
}

/* Describe the units of all generic resources by their number: {"gpu": 2}. */
static json_t *gres_json(const struct substep_pool *pool, bool free_only)
{
	json_t *all = json_object();
	for (int i = 0; i < pool->unit_count; i++)
		json_object_set_new(all, pool->units[i].name, json_integer(units_of(pool, pool->units[i].name, free_only)));
	return all;
}

json_t *substep_pool_json(const struct substep_pool *pool, const char *node)
{
	return json_pack("[{s:s, s:i, s:i, s:I, s:I, s:o, s:o}]", "node", node, "cpus", pool->cpus, "cpus_free", pool->cpus_free,
			 "mem_mb", (json_int_t)pool->mem_mb, "mem_mb_free", (json_int_t)pool->mem_free, "gres",
			 gres_json(pool, false), "gres_free", gres_json(pool, true));
}

struct substep_pool *substep_pool_of_json(const json_t *nodes)
{
	const json_t *has = json_array_get(nodes, 0), *gres = json_object_get(has, "gres"), *count;
	json_int_t cpus = json_integer_value(json_object_get(has, "cpus"));
	if (cpus < 0 || cpus > CPU_SETSIZE)
		return NULL;
	char *units = xstrdup("");
	const char *name;
	json_object_foreach ((json_t *)gres, name, count) {
		for (json_int_t i = 0; i < json_integer_value(count) && i < CPU_SETSIZE; i++) {
			char *longer = xasprintf("%s%s%s:%lld", units, *units ? "," : "", name, (long long)i);
			free(units);
			units = longer;
		}
	}
	struct substep_pool *pool = substep_pool_new((int)cpus, json_integer_value(json_object_get(has, "mem_mb")), units);
	free(units);
	return pool;
}
