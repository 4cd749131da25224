/* schedule_reserved.h - resources that ended steps left on their nodes for one successor (--same-nodes). */
#ifndef ROTA_SCHEDULE_RESERVED_H
#define ROTA_SCHEDULE_RESERVED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "jobmgr/schedule/schedule_cluster.h"

/* Numbered devices of one generic resource, ascending. The first `taken` devices of the list are given to steps. */
struct schedule_pool {
	int *device;
	size_t count, taken;
};

/* Resources reserved on one node for one step. */
struct schedule_reserved {
	int node_index;
	int64_t *amount;
	struct schedule_pool *pool;	/* reserved devices, by generic resource */
	struct schedule_reserved *next; /* resources reserved for the same step on its next node */
};

struct schedule_reserved_index; /* all resources that are reserved for successors */

struct schedule_reserved_index *schedule_reserved_index_new(const struct schedule_cluster *cluster);

/* Returns the first node with resources reserved for a pending step, or NULL if there is none. Rows reserved for a step that
 * is not pending count as running. */
struct schedule_reserved *schedule_reserved_for(const struct schedule_reserved_index *reserved_index, int64_t job, int step);

/* Returns the reserved amount of one kind of resource on a node. */
int64_t schedule_reserved_amount(const struct schedule_reserved *reserved, int node_index, size_t kind);

/* Take as much of `need` as possible from the reserved amounts. `draw` is set to the rest, which must be taken from free
 * resources. */
void schedule_reserved_draw(const struct schedule_cluster *cluster, struct schedule_reserved *reserved, int node_index,
			    const int64_t *need, int64_t *draw);

/* Undo schedule_reserved_draw(): give the amounts back to the reserved ones. */
void schedule_reserved_return(const struct schedule_cluster *cluster, struct schedule_reserved *reserved, int node_index,
			      const int64_t *need, const int64_t *draw);

#endif
