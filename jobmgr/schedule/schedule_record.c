/* schedule_record.c - collects starts and waits into the result.
 *
 * Called by: schedule.c and schedule_predispatch.c, for each decision.
 * Invariants:
 *  - The result is in the arena of the run, and owns the arena. */
#include "jobmgr/schedule/schedule_record.h"

#include <math.h>
#include <string.h>

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
};

struct schedule_record *schedule_record_new(const struct schedule_cluster *cluster)
{
	struct schedule_record *record = schedule_arena_take(cluster->arena, 1, sizeof *record);
	record->cluster = cluster;
	record->wait = schedule_arena_take(cluster->arena, cluster->snapshot->pending_count, sizeof *record->wait);
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

void schedule_record_wait(struct schedule_record *record, size_t pending, const struct schedule_cause *cause)
{
	const struct schedule_pending *step = &record->cluster->snapshot->pending[pending];
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
	result->arena = record->cluster->arena;
	return &result->result;
}

void schedule_result_free(struct schedule_result *result)
{
	if (result)
		schedule_arena_free(((struct result *)result)->arena);
}
