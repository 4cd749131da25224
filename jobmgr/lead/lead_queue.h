/* lead_queue.h - what pending steps ask for, kept from pass to pass.
 *
 * A pass reads which steps may start (api.schedule_queue), with a version of each one's row, and asks for the rest of what it has to
 * know (api.schedule_pending) only of those that are new here or have another version. */
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

/* Nothing is known any more. Between passes only: their snapshots point into what is kept. */
void lead_queue_drop(struct lead_queue *queue);

/* Of rows->places, those to be asked for: their jobs and steps, and how many they are. */
size_t lead_queue_list_missing(struct lead_queue *queue, const struct lead_rows *rows, struct db_array *jobs,
			       struct db_array *steps);

/* The answer to that. */
bool lead_queue_load(struct lead_queue *queue, const PGresult *result, struct err *e);

/* The pending steps of the pass and their keys, in the order of rows->places; what could not be learned is not among them. */
void lead_queue_fill(struct lead_queue *queue, struct lead_rows *rows);

#endif
