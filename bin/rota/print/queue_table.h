/* queue_table.h - the table of `rota queue`, for `rota watch` too: a line a job. */
#ifndef ROTA_BIN_QUEUE_TABLE_H
#define ROTA_BIN_QUEUE_TABLE_H

#include "bin/rota/print/table.h"

/* The fields of a line, as the gate answers them: texts, but for seconds in QUEUE_ELAPSED ("": it has not run) and QUEUE_LIMIT (0: none). */
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

/* Append a job to such a table. */
void queue_table_add(char **fields, void *table);

#endif
