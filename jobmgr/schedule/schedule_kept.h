/* schedule_kept.h - what ended steps left on their nodes for one step that follows them there (--same-nodes). */
#ifndef ROTA_SCHEDULE_KEPT_H
#define ROTA_SCHEDULE_KEPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "jobmgr/schedule/schedule_cluster.h"

/* The numbered units of one generic resource, ascending; those before `taken` are given away. */
struct schedule_pool {
	int *unit;
	size_t count, taken;
};

/* What is kept on one place for one step. */
struct schedule_kept {
	int place;
	int64_t *amount;
	struct schedule_pool *pool; /* by generic resource */
	struct schedule_kept *next; /* the next place of the same step */
};

struct schedule_keeping; /* all of it */

struct schedule_keeping *schedule_keeping_new(const struct schedule_cluster *cluster);

/* The first place where something is kept for a pending step, or NULL. Rows kept for a step that is not pending count
 * as running. */
struct schedule_kept *schedule_keeping_for(const struct schedule_keeping *keeping, int64_t job, int step);

/* What of a kind is kept on a place. */
int64_t schedule_kept_amount(const struct schedule_kept *kept, int place, size_t kind);

/* Take as much of `need` as is kept out of it; what has to come from what is free is left in `draw`. */
void schedule_kept_draw(const struct schedule_cluster *cluster, struct schedule_kept *kept, int place, const int64_t *need,
			int64_t *draw);

/* Undo that. */
void schedule_kept_return(const struct schedule_cluster *cluster, struct schedule_kept *kept, int place, const int64_t *need,
			  const int64_t *draw);

#endif
