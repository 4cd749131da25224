/* schedule_record.c - collects starts and waits into the result.
 *
 * Called by: schedule_decide.c, schedule_wait.c and schedule_predispatch.c, for each decision.
 * Invariants:
 *  - The result is in the arena of the run, and owns the arena. */
#include "jobmgr/schedule/schedule_record.h"

#include <math.h>
#include <string.h>

#include "jobmgr/schedule/schedule_bits.h"
#include "jobmgr/schedule/schedule_explain.h"

struct result {
	struct schedule_result result; /* must be the first member, since the caller has a pointer to the result */
	struct schedule_arena *arena;
};

struct schedule_record {
	const struct schedule_cluster *cluster;
	struct schedule_start *start;
	size_t starts, start_capacity;
	struct schedule_wait *wait; /* waits by index of the pending step; without a message: the step does not wait */
	uint64_t *wake;		    /* set of the nodes to power on */
};

struct schedule_record *schedule_record_new(const struct schedule_cluster *cluster)
{
	struct schedule_record *record = schedule_arena_take(cluster->arena, 1, sizeof *record);
	record->cluster = cluster;
	record->wait = schedule_arena_take(cluster->arena, cluster->snapshot->pending_count, sizeof *record->wait);
	record->wake = schedule_cluster_bits(cluster);
	return record;
}

/* Choose the devices that a start gets of one generic resource of a node: reserved devices first, then the lowest free
 * numbers. */
static void record_devices(const struct schedule_cluster *c, const struct schedule_reserved *reserved,
			   const struct schedule_taken *taken, size_t gres, struct schedule_devices *devices)
{
	size_t kind = SCHEDULE_FIRST_GRES + gres;
	size_t free = (size_t)taken->draw[kind], from_reserved = (size_t)taken->need[kind] - free;
	size_t slot = (size_t)taken->node_index * c->gres.count + gres;
	int *device = schedule_arena_take(c->arena, free + from_reserved, sizeof *device);
	while (reserved && reserved->node_index != taken->node_index)
		reserved = reserved->next;
	if (from_reserved) {
		struct schedule_pool *pool = &reserved->pool[gres];
		memcpy(device, pool->device + pool->taken, from_reserved * sizeof *device);
		pool->taken += from_reserved;
	}
	if (free) {
		memcpy(device + from_reserved, c->devices[slot] + c->devices_taken[slot], free * sizeof *device);
		c->devices_taken[slot] += free;
	}
	*devices = (struct schedule_devices){.name = c->gres.name[gres], .device = device, .count = free + from_reserved};
}

static struct schedule_share record_share(const struct schedule_cluster *c, const struct schedule_placed *placed,
					  const struct schedule_taken *taken)
{
	struct schedule_share share = {.node_id = c->node[taken->node_index]->id,
				       .cpus = (int)taken->need[SCHEDULE_CPUS],
				       .mem_mb = taken->need[SCHEDULE_MEM],
				       .tasks = taken->tasks};
	size_t count = 0;
	for (size_t i = 0; i < c->gres.count; i++)
		count += taken->need[SCHEDULE_FIRST_GRES + i] > 0;
	struct schedule_devices *devices = schedule_arena_take(c->arena, count, sizeof *devices);
	for (size_t i = 0; i < c->gres.count; i++)
		if (taken->need[SCHEDULE_FIRST_GRES + i] > 0)
			record_devices(c, placed->reserved, taken, i, &devices[share.gres_count++]);
	share.gres = devices;
	return share;
}

void schedule_record_start(struct schedule_record *record, const struct schedule_member *member,
			   const struct schedule_placed *placed, const struct schedule_taken *taken, bool backfilled)
{
	const struct schedule_cluster *c = record->cluster;
	if (record->starts == record->start_capacity) {
		record->start_capacity = record->start_capacity ? record->start_capacity * 2 : 64;
		struct schedule_start *start = schedule_arena_take(c->arena, record->start_capacity, sizeof *start);
		if (record->starts)
			memcpy(start, record->start, record->starts * sizeof *start);
		record->start = start;
	}
	struct schedule_share *share = schedule_arena_take(c->arena, placed->node_count, sizeof *share);
	for (size_t i = 0; i < placed->node_count; i++)
		share[i] = record_share(c, placed, &taken[i]);
	record->start[record->starts++] = (struct schedule_start){.pending = member->pending,
								  .job = member->step->job,
								  .step = member->step->step,
								  .position = placed->position,
								  .time_limit_s = placed->seconds,
								  .backfilled = backfilled,
								  .predispatched = placed->predispatched,
								  .shares = share,
								  .share_count = placed->node_count};
}

size_t schedule_record_starts(const struct schedule_record *record, const struct schedule_start **starts)
{
	*starts = record->start;
	return record->starts;
}

/* Does the step wait until its nodes are powered on, booted or prepared? A later reason does not replace this one. */
static bool record_waits_for_nodes(const struct schedule_wait *wait)
{
	return wait->message &&
	       (wait->reason == SCHEDULE_POWER || wait->reason == SCHEDULE_IMAGE || wait->reason == SCHEDULE_PREP);
}

/* Add a node to those on which a step is expected to start. The capacity of the list is a power of two. */
static void record_add_node(struct schedule_record *record, struct schedule_wait *wait, int id)
{
	size_t count = wait->node_count;
	int *list = (int *)wait->node_ids;
	if (count && list[count - 1] == id)
		return;
	if (!(count & (count - 1))) {
		list = schedule_arena_take(record->cluster->arena, count ? 2 * count : 1, sizeof *list);
		if (count)
			memcpy(list, wait->node_ids, count * sizeof *list);
		wait->node_ids = list;
	}
	list[wait->node_count++] = id;
}

void schedule_record_node_wait(struct schedule_record *record, const struct schedule_member *member,
			       const struct schedule_placed *placed, const struct schedule_taken *taken,
			       const struct schedule_cause *cause)
{
	const struct schedule_cluster *c = record->cluster;
	struct schedule_wait *wait = &record->wait[member->pending];
	schedule_record_wait(record, member->pending, cause);
	for (size_t i = 0; i < placed->node_count; i++) {
		size_t node_index = (size_t)taken[i].node_index;
		const struct schedule_node *node = c->node[node_index];
		record_add_node(record, wait, node->id);
		if (schedule_cluster_setup(c, member->step, node_index) == SCHEDULE_SETUP_OTHER)
			schedule_cluster_change_setup(c, member->step, node_index);
		if (node->power == SCHEDULE_POWER_OFF)
			schedule_bits_add(record->wake, node_index);
	}
}

void schedule_record_wait(struct schedule_record *record, size_t pending, const struct schedule_cause *cause)
{
	const struct schedule_pending *step = &record->cluster->snapshot->pending[pending];
	if (record_waits_for_nodes(&record->wait[pending]))
		return;
	record->wait[pending] = (struct schedule_wait){.pending = pending,
						       .job = step->job,
						       .step = step->step,
						       .reason = cause->reason,
						       .blocker_job = cause->job,
						       .blocker_step = cause->step,
						       .expected_at = NAN,
						       .message = cause->message};
}

void schedule_record_expected_start(struct schedule_record *record, size_t pending, double at, const struct schedule_cause *after,
				    const struct schedule_placed *placed, const struct schedule_taken *taken)
{
	const struct schedule_cluster *c = record->cluster;
	struct schedule_wait *wait = &record->wait[pending];
	int *node = schedule_arena_take(c->arena, placed->node_count, sizeof *node);
	if (wait->node_count)
		return;
	for (size_t i = 0; i < placed->node_count; i++)
		node[i] = c->node[taken[i].node_index]->id;
	wait->expected_at = at;
	wait->node_ids = node;
	wait->node_count = placed->node_count;
	wait->message = schedule_arena_print(c->arena, "%s; expected %s", wait->message, schedule_explain_at(c->arena, at));
	/* A message about a maintenance already names the outage, so the end of the outage is not added. */
	if (wait->reason != SCHEDULE_MAINTENANCE || after->step >= 0)
		wait->message = schedule_arena_print(c->arena, "%s after %s", wait->message, after->message);
	if (wait->reason != SCHEDULE_RESOURCES && wait->reason != SCHEDULE_LICENSE)
		return;
	wait->blocker_job = after->job;
	wait->blocker_step = after->step;
}

/* Returns the ids of the nodes to power on, in the order of their names. */
static const int *record_list_wake(const struct schedule_record *record, size_t *count)
{
	const struct schedule_cluster *c = record->cluster;
	int *list = schedule_arena_take(c->arena, schedule_bits_count(record->wake, c->words), sizeof *list);
	*count = 0;
	for (size_t node_index = 0; node_index < c->nodes; node_index++)
		if (schedule_bits_has(record->wake, node_index))
			list[(*count)++] = c->node[node_index]->id;
	return list;
}

/* Returns the nodes that are to get another setup and are on, in the order of their names. A node that is not on is only
 * powered on. */
static const struct schedule_setup *record_list_setups(const struct schedule_record *record, size_t *count)
{
	const struct schedule_cluster *c = record->cluster;
	struct schedule_setup *list = schedule_arena_take(c->arena, schedule_bits_count(c->changing, c->words), sizeof *list);
	*count = 0;
	for (size_t node_index = 0; node_index < c->nodes; node_index++)
		if (schedule_bits_has(c->changing, node_index) && c->node[node_index]->power == SCHEDULE_POWER_ON)
			list[(*count)++] =
				(struct schedule_setup){c->node[node_index]->id, c->image[node_index], c->prep[node_index]};
	return list;
}

struct schedule_result *schedule_record_finish(struct schedule_record *record, size_t evaluations)
{
	struct result *result = schedule_arena_take(record->cluster->arena, 1, sizeof *result);
	size_t waits = 0;
	for (size_t i = 0; i < record->cluster->snapshot->pending_count; i++)
		if (record->wait[i].message)
			record->wait[waits++] = record->wait[i];
	result->result = (struct schedule_result){.starts = record->start,
						  .start_count = record->starts,
						  .waits = record->wait,
						  .wait_count = waits,
						  .evaluations = evaluations};
	result->result.wake_ids = record_list_wake(record, &result->result.wake_count);
	result->result.setups = record_list_setups(record, &result->result.setup_count);
	result->arena = record->cluster->arena;
	return &result->result;
}

void schedule_result_free(struct schedule_result *result)
{
	if (result)
		schedule_arena_free(((struct result *)result)->arena);
}
