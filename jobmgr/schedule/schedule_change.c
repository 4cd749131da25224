/* schedule_change.c - copies the lists of a snapshot that change, and keeps the amounts of nodes and licences right.
 *
 * Called by: schedule_preempt.c, which tries which ends of steps make room; schedule_resume.c; lead_preempt.c, which keeps
 * claims.
 * Invariants:
 *  - The sum of free resources and those that running rows hold does not change. */
#include "jobmgr/schedule/schedule_change.h"

#include <math.h>
#include <string.h>

static void *change_copy(struct schedule_arena *arena, const void *list, size_t count, size_t more, size_t size)
{
	char *copy = schedule_arena_take(arena, count + more, size);
	if (count)
		memcpy(copy, list, count * size);
	return copy;
}

struct schedule_change *schedule_change_new(struct schedule_arena *arena, const struct schedule_snapshot *s, size_t rows)
{
	struct schedule_change *change = schedule_arena_take(arena, 1, sizeof *change);
	change->snapshot = *s;
	change->arena = arena;
	change->nodes = change_copy(arena, s->nodes, s->node_count, 0, sizeof *s->nodes);
	change->licenses = change_copy(arena, s->licenses, s->license_count, 0, sizeof *s->licenses);
	change->running = change_copy(arena, s->running, s->running_count, rows, sizeof *s->running);
	change->snapshot.nodes = change->nodes;
	change->snapshot.licenses = change->licenses;
	change->snapshot.running = change->running;
	return change;
}

const struct schedule_node *schedule_snapshot_node(const struct schedule_snapshot *s, int id)
{
	size_t low = 0, high = s->node_count;
	while (low < high) { /* nodes are mostly in the order of their ids */
		size_t middle = (low + high) / 2;
		if (s->nodes[middle].id < id)
			low = middle + 1;
		else
			high = middle;
	}
	if (low < s->node_count && s->nodes[low].id == id)
		return &s->nodes[low];
	for (size_t i = 0; i < s->node_count; i++)
		if (s->nodes[i].id == id)
			return &s->nodes[i];
	return NULL;
}

static struct schedule_node *change_node(const struct schedule_change *change, int id)
{
	const struct schedule_node *node = schedule_snapshot_node(&change->snapshot, id);
	return node ? &change->nodes[node - change->snapshot.nodes] : NULL;
}

static struct schedule_license *change_license(const struct schedule_change *change, const char *name)
{
	for (size_t i = 0; i < change->snapshot.license_count; i++)
		if (!strcmp(change->licenses[i].name, name))
			return &change->licenses[i];
	return NULL;
}

/* Returns a generic resource of a node for writing, or NULL if the node has none of that name. */
static struct schedule_gres *node_gres(const struct schedule_change *change, struct schedule_node *node, const char *name)
{
	for (size_t i = 0; i < node->gres_count; i++) {
		if (strcmp(node->gres[i].name, name) != 0)
			continue;
		struct schedule_gres *copy = change_copy(change->arena, node->gres, node->gres_count, 0, sizeof *copy);
		node->gres = copy;
		return &copy[i];
	}
	return NULL;
}

static void node_free_devices(const struct schedule_change *change, struct schedule_node *node,
			      const struct schedule_devices *given)
{
	struct schedule_gres *gres = node_gres(change, node, given->name);
	if (!gres)
		return;
	int *free = schedule_arena_take(change->arena, gres->free_count + given->count, sizeof *free);
	size_t count = 0, old = 0, new = 0;
	while (old < gres->free_count || new < given->count) { /* the lists of free and of given devices are ascending */
		bool takes_old = new == given->count || (old < gres->free_count && gres->free[old] < given->device[new]);
		free[count++] = takes_old ? gres->free[old++] : given->device[new ++];
	}
	gres->free = free;
	gres->free_count = count;
}

static void row_free_licenses(const struct schedule_change *change, struct schedule_running *row)
{
	for (size_t i = 0; i < row->license_count; i++) {
		struct schedule_license *license = change_license(change, row->licenses[i].name);
		if (license)
			license->used -= row->licenses[i].count;
	}
	row->license_count = 0;
}

void schedule_change_end(struct schedule_change *change, size_t index)
{
	struct schedule_running *row = &change->running[index];
	struct schedule_node *node = change_node(change, row->node_id);
	if (node) {
		node->cpus_used -= row->cpus;
		node->mem_used_mb -= row->mem_mb;
		for (size_t i = 0; i < row->gres_count; i++)
			node_free_devices(change, node, &row->gres[i]);
	}
	row_free_licenses(change, row);
	row->cpus = 0;
	row->mem_mb = 0;
	row->gres_count = 0;
	row->predispatched = false;
	row->ends_at = change->snapshot.now;
}

/* Free the GPUs of a row, which keeps its other devices. */
static void row_free_gpus(const struct schedule_change *change, struct schedule_node *node, struct schedule_running *row)
{
	struct schedule_devices *kept = schedule_arena_take(change->arena, row->gres_count, sizeof *kept);
	size_t count = 0;
	for (size_t i = 0; i < row->gres_count; i++) {
		if (strcmp(row->gres[i].name, "gpu") != 0)
			kept[count++] = row->gres[i];
		else if (node)
			node_free_devices(change, node, &row->gres[i]);
	}
	row->gres = kept;
	row->gres_count = count;
}

void schedule_change_suspend(struct schedule_change *change, size_t index, struct schedule_gives gives)
{
	struct schedule_running *row = &change->running[index];
	struct schedule_node *node = change_node(change, row->node_id);
	if (node)
		node->cpus_used -= row->cpus;
	row->cpus = 0;
	if (gives.licenses)
		row_free_licenses(change, row);
	if (gives.gpus)
		row_free_gpus(change, node, row);
}

/* Take the first free devices of a generic resource of a node, by moving the start of its list of free devices. */
static struct schedule_devices node_take_devices(const struct schedule_change *change, struct schedule_node *node,
						 const struct schedule_amount *amount)
{
	struct schedule_gres *gres = node_gres(change, node, amount->name);
	struct schedule_devices taken = {.name = amount->name};
	if (!gres)
		return taken;
	taken.count = (size_t)amount->count < gres->free_count ? (size_t)amount->count : gres->free_count;
	taken.device = gres->free;
	gres->free += taken.count;
	gres->free_count -= taken.count;
	return taken;
}

void schedule_change_add(struct schedule_change *change, const struct schedule_running *row, const struct schedule_amount *gres,
			 size_t gres_count)
{
	struct schedule_running *added = &change->running[change->snapshot.running_count++];
	struct schedule_node *node = change_node(change, row->node_id);
	struct schedule_devices *devices = schedule_arena_take(change->arena, gres_count, sizeof *devices);
	*added = *row;
	added->gres = devices;
	added->gres_count = gres_count;
	for (size_t i = 0; node && i < gres_count; i++)
		devices[i] = node_take_devices(change, node, &gres[i]);
	if (node) {
		node->cpus_used += row->cpus;
		node->mem_used_mb += row->mem_mb;
	}
	for (size_t i = 0; i < row->license_count; i++) {
		struct schedule_license *license = change_license(change, row->licenses[i].name);
		if (license)
			license->used += row->licenses[i].count;
	}
}

/* Take those of the devices that are free. The lists of free devices and of `wanted` are ascending. */
static struct schedule_devices node_take_named(const struct schedule_change *change, struct schedule_node *node,
					       const struct schedule_devices *wanted)
{
	struct schedule_gres *gres = node_gres(change, node, wanted->name);
	struct schedule_devices taken = {.name = wanted->name};
	if (!gres)
		return taken;
	int *left = schedule_arena_take(change->arena, gres->free_count, sizeof *left);
	int *got = schedule_arena_take(change->arena, wanted->count, sizeof *got);
	size_t left_count = 0;
	for (size_t i = 0, k = 0; i < gres->free_count; i++) {
		while (k < wanted->count && wanted->device[k] < gres->free[i])
			k++;
		if (k < wanted->count && wanted->device[k] == gres->free[i])
			got[taken.count++] = gres->free[i];
		else
			left[left_count++] = gres->free[i];
	}
	gres->free = left;
	gres->free_count = left_count;
	taken.device = got;
	return taken;
}

void schedule_change_hold(struct schedule_change *change, const struct schedule_devices *devices, size_t count)
{
	struct schedule_running *row = &change->running[change->snapshot.running_count - 1];
	struct schedule_node *node = change_node(change, row->node_id);
	struct schedule_devices *held = schedule_arena_take(change->arena, row->gres_count + count, sizeof *held);
	for (size_t i = 0; i < row->gres_count; i++)
		held[i] = row->gres[i];
	for (size_t i = 0; node && i < count; i++)
		held[row->gres_count++] = node_take_named(change, node, &devices[i]);
	row->gres = held;
}

static int64_t least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

void schedule_change_keep(struct schedule_change *change, const struct schedule_claim *claim)
{
	const struct schedule_node *node = change_node(change, claim->node_id);
	if (!node)
		return;
	struct schedule_running row = {
		.job = claim->job,
		.step = claim->step,
		.node_id = claim->node_id,
		.cpus = (int)least(claim->cpus, node->cpus - node->cpus_used),
		.mem_mb = least(claim->mem_mb, node->mem_mb - node->mem_used_mb),
		.ends_at = change->snapshot.now,
		.reserved = true,
		.reserved_for = claim->step,
	};
	struct schedule_amount *licenses = schedule_arena_take(change->arena, claim->license_count, sizeof *licenses);
	for (size_t i = 0; i < claim->license_count; i++) {
		const struct schedule_license *license = change_license(change, claim->licenses[i].name);
		licenses[i] = claim->licenses[i];
		licenses[i].count = license ? least(licenses[i].count, license->total - license->used) : 0;
		licenses[i].count = licenses[i].count > 0 ? licenses[i].count : 0;
	}
	row.cpus = row.cpus > 0 ? row.cpus : 0;
	row.mem_mb = row.mem_mb > 0 ? row.mem_mb : 0;
	row.licenses = licenses;
	row.license_count = claim->license_count;
	schedule_change_add(change, &row, claim->gres, claim->gres_count);
}

void schedule_change_start(struct schedule_change *change, const struct schedule_start *start,
			   const struct schedule_pending *step)
{
	for (size_t i = 0; i < start->share_count; i++) {
		const struct schedule_share *share = &start->shares[i];
		struct schedule_amount *gres = schedule_arena_take(change->arena, share->gres_count, sizeof *gres);
		for (size_t k = 0; k < share->gres_count; k++)
			gres[k] = (struct schedule_amount){share->gres[k].name, (int64_t)share->gres[k].count};
		const struct schedule_running row = {
			.job = start->job,
			.step = start->step,
			.attempt = 1,
			.node_id = share->node_id,
			.cpus = share->cpus,
			.mem_mb = share->mem_mb,
			.ends_at = start->time_limit_s > 0 ? change->snapshot.now + (double)start->time_limit_s : INFINITY,
			.licenses = step->licenses,
			.license_count = i == 0 ? step->license_count : 0,
		};
		schedule_change_add(change, &row, gres, share->gres_count);
	}
}

const struct schedule_share *schedule_change_copy_shares(struct schedule_arena *arena, const struct schedule_start *start)
{
	struct schedule_share *shares = schedule_arena_take(arena, start->share_count, sizeof *shares);
	for (size_t i = 0; i < start->share_count; i++) {
		struct schedule_devices *gres = schedule_arena_take(arena, start->shares[i].gres_count, sizeof *gres);
		shares[i] = start->shares[i];
		shares[i].gres = gres;
		for (size_t g = 0; g < shares[i].gres_count; g++) {
			gres[g].name = schedule_arena_print(arena, "%s", start->shares[i].gres[g].name);
			gres[g].count = start->shares[i].gres[g].count;
		}
	}
	return shares;
}

size_t schedule_change_shares(const struct schedule_start *starts, size_t count)
{
	size_t shares = 0;
	for (size_t i = 0; i < count; i++)
		shares += starts[i].share_count;
	return shares;
}

/* End the running rows that are reserved for the step of `start`: the start takes over their resources. */
static void change_take_over(struct schedule_change *change, const struct schedule_start *start)
{
	for (size_t r = 0; r < change->snapshot.running_count; r++) {
		const struct schedule_running *row = &change->running[r];
		if (row->reserved && row->job == start->job && row->reserved_for == start->step)
			schedule_change_end(change, r);
	}
}

static bool has_reserved(const struct schedule_snapshot *s)
{
	for (size_t r = 0; r < s->running_count; r++)
		if (s->running[r].reserved)
			return true;
	return false;
}

struct schedule_change *schedule_change_after(struct schedule_arena *arena, const struct schedule_snapshot *s,
					      const struct schedule_result *result, size_t rows)
{
	struct schedule_change *change =
		schedule_change_new(arena, s, schedule_change_shares(result->starts, result->start_count) + rows);
	bool reserved = has_reserved(s);
	for (size_t i = 0; i < result->start_count; i++) {
		const struct schedule_start *start = &result->starts[i];
		if (start->predispatched)
			continue;
		if (reserved)
			change_take_over(change, start);
		schedule_change_start(change, start, &s->pending[start->pending]);
	}
	return change;
}
