/* load_row.h - rows of a history for each table, in the database's form. For load.c. */
#ifndef ROTA_HISTORY_LOAD_ROW_H
#define ROTA_HISTORY_LOAD_ROW_H

#include "copy.h"
#include "job.h"
#include "world.h"

enum load_table_id { JOB, STEP_REQUEST, STEP, STEP_ARRAY, STEP_EDGE, ATTEMPT, ALLOCATION, TASK_END, EVENT, LOAD_TABLES };

struct load_table {
	const char *name, *columns; /* separated by commas */
	int fields;
};
extern const struct load_table load_tables[LOAD_TABLES];

struct load_rows {
	const struct world *w;
	struct copy_rows table[LOAD_TABLES], *to; /* to: the rows to which the present row is added */
};

/* Write all rows of an ended job. */
void load_rows_add(struct load_rows *l, const struct job *j);

#endif
