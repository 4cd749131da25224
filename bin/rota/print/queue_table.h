/* queue_table.h - the table of `rota queue` and `rota watch`, with one line for each job. */
#ifndef ROTA_BIN_QUEUE_TABLE_H
#define ROTA_BIN_QUEUE_TABLE_H

#include "bin/rota/print/table.h"

/* Fields of a job in an answer of `queue`. All are texts, but QUEUE_ELAPSED is in seconds ("": the job has not run), and so is
 * QUEUE_TIME_LIMIT (0: no limit). */
enum {
	QUEUE_JOB,
	QUEUE_NAME,
	QUEUE_USER,
	QUEUE_PARTITION,
	QUEUE_STATE,
	QUEUE_STEPS,
	QUEUE_ELAPSED,
	QUEUE_TIME_LIMIT,
	QUEUE_PLACE,
	QUEUE_COLUMNS
};

struct table *queue_table_new(void);

/* Append a job to a table that queue_table_new() made. */
void queue_table_add(char **fields, void *table);

#endif
