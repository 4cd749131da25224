/* queue_table.c - the table of jobs that `rota queue` and `rota watch` print. */
#include "bin/rota/print/queue_table.h"

#include <stdlib.h>

#include "bin/rota/print/format.h"

void queue_table_add(char **fields, void *arg)
{
	struct table *table = arg;
	long long limit = atoll(fields[QUEUE_TIME_LIMIT]);

	for (int f = 0; f < QUEUE_COLUMNS; f++) {
		if (f == QUEUE_STATE)
			table_cell_coloured(table, fields[f], format_state_colour(fields[f]));
		else if (f == QUEUE_ELAPSED)
			table_cell(table, fields[f][0] ? format_duration((double)atoll(fields[f])).s : "-");
		else if (f == QUEUE_TIME_LIMIT)
			table_cell(table, limit > 0 ? format_duration((double)limit).s : "-");
		else
			table_cell(table, fields[f]);
	}
}

struct table *queue_table_new(void)
{
	static const struct table_column COLUMNS[QUEUE_COLUMNS] = {
		[QUEUE_JOB] = {"JOB", true, 0},
		[QUEUE_NAME] = {"NAME", false, 8},
		[QUEUE_USER] = {"USER", false, 6},
		[QUEUE_PARTITION] = {"PARTITION", false, 6},
		[QUEUE_STATE] = {"STATE", false, 0},
		[QUEUE_STEPS] = {"STEPS", true, 0},
		[QUEUE_ELAPSED] = {"TIME", true, 0},
		[QUEUE_TIME_LIMIT] = {"LIMIT", true, 4},
		[QUEUE_PLACE] = {"NODES/REASON", false, 12},
	};

	return table_new(COLUMNS, QUEUE_COLUMNS);
}
