/* schedule_reserved.h - what ended steps left on their nodes for one step that follows them there (--same-nodes). */
#ifndef ROTA_SCHEDULE_RESERVED_H
#define ROTA_SCHEDULE_RESERVED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "jobmgr/schedule/schedule_cluster.h"

/* The numbered units of one generic resource, ascending; those before `taken` are given away. */
struct schedule_pool {
	int *device;
	size_t count, taken;
};

/* What is kept on one place for one step. */
struct schedule_reserved {
	int node_index;
	int64_t *amount;
	struct schedule_pool *pool;	/* by generic resource */
	struct schedule_reserved *next; /* the next place of the same step */
};

struct schedule_reserved_index; /* all of it */

struct schedule_reserved_index *schedule_reserved_index_new(const struct schedule_cluster *cluster);

/* The first place where something is kept for a pending step, or NULL. Rows kept for a step that is not pending count
 * as running. */
struct schedule_reserved *schedule_reserved_for(const struct schedule_reserved_index *reserved_index, int64_t job, int step);

/* What of a kind is kept on a place. */
int64_t schedule_reserved_amount(const struct schedule_reserved *reserved, int node_index, size_t kind);

/* Take as much of `need` as is kept out of it; what has to come from what is free is left in `draw`. */
void schedule_reserved_draw(const struct schedule_cluster *cluster, struct schedule_reserved *reserved, int node_index,
			    const int64_t *need, int64_t *draw);

/* Undo that. */
void schedule_reserved_return(const struct schedule_cluster *cluster, struct schedule_reserved *reserved, int node_index,
			      const int64_t *need, const int64_t *draw);

#endif
