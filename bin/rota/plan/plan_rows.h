/* plan_rows.h - the rows of `rota plan`, one for each waiting step: as a table, as JSON, as a page with a picture. */
#ifndef ROTA_BIN_PLAN_ROWS_H
#define ROTA_BIN_PLAN_ROWS_H

#include <stdbool.h>
#include <stddef.h>

#include "jobmgr/schedule/schedule.h"

/* Expected start of a step in seconds since 1970: the time of the snapshot means now, NAN never or not known. */
struct plan_row {
	const struct schedule_pending *step;
	double before, after;
	const char *message; /* why the step waits after the changes; NULL: not known */
};

struct plan_rows {
	const struct plan_row *list;
	size_t count;
	double now;   /* time of the snapshot */
	bool changed; /* the plan is compared with one after changes; false: `after` is all there is */
};

void plan_rows_table(const struct plan_rows *rows);
void plan_rows_json(const struct plan_rows *rows);

/* Write a page with a picture and the numbers to the file `path`; "-": to standard output. `changes`: the changes as options,
 * "" for none. Returns false after printing an error. */
bool plan_rows_page(const struct plan_rows *rows, const char *changes, const char *path);

#endif
