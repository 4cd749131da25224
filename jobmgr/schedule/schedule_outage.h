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
	struct schedule_node_outage *list;	   /* in the order of their starts */
	const struct schedule_node_outage **by_to; /* in the order of their ends */
	size_t count;
};

/* The outages of the snapshot that have not ended. */
struct schedule_outage_list schedule_outage_list_make(const struct schedule_cluster *cluster);

/* The first outage that a step on a node would run into from `at` until `until`, unless it admits the step; NULL: none. */
const struct schedule_node_outage *schedule_outage_find(const struct schedule_outage_list *outages,
							const struct schedule_pending *step, size_t node_index, double at,
							double until);

#endif
