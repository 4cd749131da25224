/* lead_queue.h - caches the requests of pending steps from cycle to cycle.
 *
 * A cycle reads which steps may start (api.schedule_queue), each with the version of its row. It reads requests
 * (api.schedule_pending)
 * only of steps that are new or have another version. */
#ifndef ROTA_LEAD_QUEUE_H
#define ROTA_LEAD_QUEUE_H

#include <libpq-fe.h>
#include <stdbool.h>
#include <stddef.h>

#include "jobmgr/lead/lead_load.h"
#include "lib/db.h"
#include "lib/err.h"

struct lead_queue;

struct lead_queue *lead_queue_new(void);
void lead_queue_free(struct lead_queue *queue);

/* Drop the cached requests of pending steps. Call it only between cycles, since the snapshot of a running cycle refers to the
 * cache. */
void lead_queue_drop(struct lead_queue *queue);

/* Append to `jobs` and `steps` the steps of rows->queue whose requests are not cached. Returns the number of these steps. */
size_t lead_queue_list_missing(struct lead_queue *queue, const struct lead_rows *rows, struct db_array *jobs,
			       struct db_array *steps);

/* Add the requests in `result` to the cache. Returns false if the result does not have the expected form. */
bool lead_queue_load(struct lead_queue *queue, const PGresult *result, struct err *e);

/* Set the pending steps of the cycle's snapshot, and their signing keys in rows->keys, in the order of rows->queue. Steps without
 * a cached request are left out. */
void lead_queue_fill(struct lead_queue *queue, struct lead_rows *rows);

#endif
