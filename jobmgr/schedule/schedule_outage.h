/* schedule_outage.h - the times in which nodes are not to be used. */
#ifndef ROTA_SCHEDULE_OUTAGE_H
#define ROTA_SCHEDULE_OUTAGE_H

#include "jobmgr/schedule/schedule_cluster.h"

/* An outage, with its nodes as places. */
struct schedule_node_outage {
	double from, to;
	const struct schedule_outage *outage;
	uint64_t *nodes;
};

struct schedule_outage_list {
	struct schedule_node_outage *list;	   /* in the order of their beginnings */
	const struct schedule_node_outage **by_to; /* of their ends */
	size_t count;
};

/* Those of the snapshot that are not over. */
struct schedule_outage_list schedule_outage_list_make(const struct schedule_cluster *cluster);

/* The first that a step on a place would run into, from `at` until `until`; NULL: none, or only such as let it in. */
const struct schedule_node_outage *schedule_outage_find(const struct schedule_outage_list *outages,
							const struct schedule_pending *step, size_t node_index, double at,
							double until);

#endif
