/* lead_queue.c - a hash table of cached requests by job and step, over rows in one arena.
 *
 * Called by: lead_cycle.c, in each cycle: list_missing, load, fill.
 * Invariants:
 *  - A cached request is used only if it was read at the version and stamp that the cycle's queue has, or later.
 *  - The request of a step that is not steady is read in each cycle.
 *  - The cache may be dropped between cycles at any time, which costs one longer read. It is dropped when the stamp changes,
 *    when more than half of it is waste, and from time to time. So steps that left the queue need not be removed one by one. */
#include "jobmgr/lead/lead_queue.h"

#include <stdlib.h>
#include <string.h>

#include "jobmgr/schedule/schedule_arena.h"
#include "lib/log.h"

enum { CAPACITY_FIRST = 1024, WASTE_LEAST = 4096 };

struct cached {
	int64_t job; /* 0: the entry is empty */
	int step;
	int64_t version;
	const struct schedule_pending *pending; /* cached request of the step; NULL: it has to be read */
	const struct lead_key *key;
	bool steady;
};

struct lead_queue {
	struct cached *table; /* `capacity` entries, a power of two; at most half of them used */
	size_t capacity, used;
	size_t waste; /* number of rows in the arena that no entry of the table refers to */
	size_t most;  /* number of steps in the longest queue of a cycle since the cache was empty */
	int64_t stamp;
	struct lead_rows *rows; /* the cached rows */
};

static void queue_init(struct lead_queue *q)
{
	q->capacity = CAPACITY_FIRST;
	q->used = q->waste = q->most = 0;
	q->table = xcalloc(q->capacity, sizeof *q->table);
	q->rows = lead_rows_new(0);
}

static void queue_release(struct lead_queue *q)
{
	free(q->table);
	lead_rows_free(q->rows);
}

struct lead_queue *lead_queue_new(void)
{
	struct lead_queue *q = xcalloc(1, sizeof *q);

	queue_init(q);
	return q;
}

void lead_queue_free(struct lead_queue *q)
{
	if (!q)
		return;
	queue_release(q);
	free(q);
}

void lead_queue_drop(struct lead_queue *q)
{
	queue_release(q);
	queue_init(q);
}

/* Returns the table entry of a step, or the empty entry where the step belongs. */
static struct cached *queue_find(const struct lead_queue *q, int64_t job, int step)
{
	uint64_t hash = ((uint64_t)job * 0x9e3779b97f4a7c15u) ^ ((uint64_t)step * 0xc2b2ae3d27d4eb4fu);
	size_t i = (size_t)(hash ^ hash >> 32) & (q->capacity - 1);

	while (q->table[i].job != 0 && (q->table[i].job != job || q->table[i].step != step))
		i = (i + 1) & (q->capacity - 1);
	return &q->table[i];
}

static void queue_grow(struct lead_queue *q)
{
	struct cached *before = q->table;
	size_t capacity = q->capacity;

	q->capacity *= 2;
	q->table = xcalloc(q->capacity, sizeof *q->table);
	for (size_t i = 0; i < capacity; i++) {
		if (before[i].job != 0)
			*queue_find(q, before[i].job, before[i].step) = before[i];
	}
	free(before);
}

/* Returns the table entry of a step. A missing entry is created. */
static struct cached *queue_entry(struct lead_queue *q, int64_t job, int step)
{
	struct cached *cached = queue_find(q, job, step);

	if (cached->job != 0)
		return cached;
	if (2 * ++q->used > q->capacity) {
		queue_grow(q);
		cached = queue_find(q, job, step);
	}
	*cached = (struct cached){.job = job, .step = step};
	return cached;
}

/* Is more than half of the cached requests of no use to a full scan? */
static bool queue_is_wasteful(const struct lead_queue *q)
{
	return q->used + q->waste > 2 * q->most + WASTE_LEAST;
}

size_t lead_queue_list_missing(struct lead_queue *q, const struct lead_rows *rows, struct db_array *jobs, struct db_array *steps)
{
	size_t count = 0;

	if (rows->queue_count > 0 && (rows->queue[0].stamp != q->stamp || queue_is_wasteful(q))) {
		lead_queue_drop(q);
		q->stamp = rows->queue[0].stamp;
	}
	if (rows->queue_count > q->most)
		q->most = rows->queue_count;
	for (size_t i = 0; i < rows->queue_count; i++) {
		const struct lead_queued *queued = &rows->queue[i];
		struct cached *cached = queue_entry(q, queued->job, queued->step);

		if (cached->pending && cached->steady && cached->version == queued->version)
			continue;
		q->waste += cached->pending != NULL;
		cached->pending = NULL;
		cached->version = queued->version;
		db_array_int(jobs, queued->job);
		db_array_int(steps, queued->step);
		count++;
	}
	return count;
}

bool lead_queue_load(struct lead_queue *q, const PGresult *result, struct err *e)
{
	struct lead_rows *rows = q->rows;

	if (!lead_load(rows, LEAD_PENDING, result, e))
		return false;
	for (size_t i = 0; i < rows->snapshot.pending_count; i++) {
		const struct schedule_pending *pending = &rows->snapshot.pending[i];
		struct cached *cached = queue_entry(q, pending->job, pending->step);

		q->waste += cached->pending != NULL;
		cached->pending = pending;
		cached->key = &rows->keys[i];
		cached->steady = rows->keys[i].steady;
	}
	return true;
}

/* Set `pending` to the cached request of a step. What has started of an array comes from the row of the queue. */
static void queue_fill_one(struct schedule_pending *pending, const struct cached *cached, const struct lead_queued *queued)
{
	*pending = *cached->pending;
	pending->array_free_slots = -1;
	if (pending->array_size > 0) {
		pending->array_free_slots = queued->free_slots;
		pending->array_next = queued->next;
		pending->array_skip = queued->skip;
		pending->array_skip_count = queued->skip_count;
		pending->array_ended = queued->ended;
	}
}

void lead_queue_fill(struct lead_queue *q, struct lead_rows *rows)
{
	struct schedule_pending *pending = schedule_arena_take(rows->arena, rows->queue_count, sizeof *pending);
	struct lead_key *keys = schedule_arena_take(rows->arena, rows->queue_count, sizeof *keys);
	size_t count = 0;

	for (size_t i = 0; i < rows->queue_count; i++) {
		const struct lead_queued *queued = &rows->queue[i];
		const struct cached *cached = queue_find(q, queued->job, queued->step);

		if (!cached->pending)
			continue;
		queue_fill_one(&pending[count], cached, queued);
		keys[count++] = *cached->key;
	}
	rows->snapshot.pending = rows->pending = pending;
	rows->snapshot.pending_count = count;
	rows->keys = keys;
}
