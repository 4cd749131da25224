/* lead_prefetch.h - lists the launch rows that the next cycle will most likely need. Launch rows that are read with the
 * snapshot cost no round trip.
 *
 * An array that started elements mostly starts more of them. */
#ifndef ROTA_LEAD_PREFETCH_H
#define ROTA_LEAD_PREFETCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "jobmgr/lead/lead_load.h"
#include "lib/db.h"

enum { LEAD_PREFETCH_MOST = 16 };

struct lead_prefetch_key {
	int64_t job;
	int request;
};

struct lead_prefetch {
	struct lead_prefetch_key keys[LEAD_PREFETCH_MOST];
	size_t count;
};

/* Record the arrays of which elements start in this scheduling cycle, at most LEAD_PREFETCH_MOST. Arrays of job groups are left
 * out: their launch rows say on which nodes the group's prolog has an owner, so these must be read after the decision. `keeps`:
 * an array that was recorded before and still waits stays recorded, so that more of its elements can be pre-dispatched if none
 * start. */
void lead_prefetch_note(struct lead_prefetch *prefetch, const struct lead_rows *rows, const struct schedule_result *result,
			bool keeps);

/* Append the job, and the step id of the request, of each recorded array to `jobs` and `requests`. Returns their number. */
size_t lead_prefetch_list(const struct lead_prefetch *prefetch, struct db_array *jobs, struct db_array *requests);

/* Is start `i` the first start of its array or step? Elements of an array are adjacent. */
bool lead_prefetch_is_first(const struct lead_rows *rows, const struct schedule_result *result, size_t i);

/* Is the launch row of this request loaded? */
bool lead_prefetch_has(const struct lead_rows *rows, int64_t job, int request);

/* Are the launch rows of all starts loaded? */
bool lead_prefetch_is_complete(const struct lead_rows *rows, const struct schedule_result *result);

#endif
