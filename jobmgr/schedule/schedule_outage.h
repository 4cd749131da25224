/* schedule_outage.h - the times in which nodes are not to be used. */
#ifndef ROTA_SCHEDULE_OUTAGE_H
#define ROTA_SCHEDULE_OUTAGE_H

#include "jobmgr/schedule/schedule_cluster.h"

/* An outage, with its nodes as places. */
struct schedule_barrier {
	double from, to;
	const struct schedule_outage *outage;
	uint64_t *places;
};

struct schedule_barriers {
	struct schedule_barrier *barrier;      /* in the order of their beginnings */
	const struct schedule_barrier **by_to; /* of their ends */
	size_t count;
};

/* Those of the snapshot that are not over. */
struct schedule_barriers schedule_outage_index(const struct schedule_cluster *cluster);

/* The first that a step on a place would run into, from `at` until `until`; NULL: none, or only such as let it in. */
const struct schedule_barrier *schedule_outage_meet(const struct schedule_barriers *barriers, const struct schedule_pending *step,
						    size_t place, double at, double until);

#endif
