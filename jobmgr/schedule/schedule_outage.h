/* schedule_outage.h - the times in which nodes must not be used. */
#ifndef ROTA_SCHEDULE_OUTAGE_H
#define ROTA_SCHEDULE_OUTAGE_H

#include "jobmgr/schedule/schedule_cluster.h"

/* An outage with its nodes as a set. */
struct schedule_node_outage {
	double from, to;
	const struct schedule_outage *outage;
	uint64_t *nodes;
};

struct schedule_outage_list {
	struct schedule_node_outage *list;	   /* outages in the order of their starts */
	const struct schedule_node_outage **by_to; /* outages in the order of their ends */
	size_t count;
};

/* Returns the outages of the snapshot that have not ended. */
struct schedule_outage_list schedule_outage_list_make(const struct schedule_cluster *cluster);

/* Returns the first outage that does not admit the step and that the step would run into on a node from `at` until `until`.
 * Returns NULL if there is none. */
const struct schedule_node_outage *schedule_outage_find(const struct schedule_outage_list *outages,
							const struct schedule_pending *step, size_t node_index, double at,
							double until);

#endif
