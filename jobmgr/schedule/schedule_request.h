/* schedule_request.h - what pending steps ask for, each distinct request once a pass.
 *
 * Two steps with the same request are placed alike, and what failed for one fails for the other later in the same pass,
 * because a pass only ever takes resources away. */
#ifndef ROTA_SCHEDULE_REQUEST_H
#define ROTA_SCHEDULE_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "jobmgr/schedule/schedule_cluster.h"
#include "jobmgr/schedule/schedule_reserved.h"

struct schedule_need {
	size_t kind;
	int64_t count;
};

/* Why a step waits, as far as all with the same request share it. */
struct schedule_cause {
	enum schedule_reason reason;
	int64_t job; /* the step waited for; step -1: none is known */
	int step;
	const char *message;
	bool blocks; /* the steps behind it may not delay it */
	bool closes; /* the licences it lacks are closed to the steps behind it */
};

struct schedule_request {
	const struct schedule_pending *step; /* the first that asks so */
	int partition;			     /* index in the snapshot, -1: no such partition */
	struct schedule_reserved *reserved;  /* what is kept for the one step that asks so */
	uint64_t *mask;			     /* the nodes it may run on, as they are */
	size_t matching, usable;	     /* how many its words name, and how many of them are usable */
	int nodes_min, nodes_max;	     /* at least 1; INT_MAX: as many as needed */
	int ntasks, tasks_per_node;	     /* at least nodes_min; INT_MAX: no limit */
	int cpus_per_task;
	int64_t mem_mb, mem_per_cpu_mb;
	bool whole_memory; /* all of each node's */
	bool exclusive;
	struct schedule_need *gres, *licenses;
	size_t gres_count, license_count;
	int *forced; /* places: exactly these, in this order */
	size_t forced_count;
	int64_t full_s, least_s; /* the time limit it gets, and what it may be cut to; 0: unlimited */
	bool refused;		 /* cannot start, whatever is free: see cause */
	bool possible;		 /* would run on the nodes if nothing else did */
	bool failed;		 /* did not fit in this pass: see cause */
	bool no_later_start;	 /* nor was there a later moment at which it would; what the pass releases, the next one sees */
	struct schedule_cause cause;
	const char *description;       /* "4 cpus on 2 nodes" */
	struct schedule_request *next; /* of the same bucket */
	const char *key;
	size_t key_length;
};

struct schedule_requests; /* the table of a pass */

struct schedule_requests *schedule_requests_new(const struct schedule_cluster *cluster,
						const struct schedule_reserved_index *reserved_index);
void schedule_requests_free(struct schedule_requests *requests);

/* The request of a pending step: one known, or a new one, judged as far as that is possible without placing it. */
struct schedule_request *schedule_request_of(struct schedule_requests *requests, const struct schedule_pending *step);

/* What tasks of it take from a place. */
void schedule_request_need(const struct schedule_cluster *cluster, const struct schedule_request *request, int node_index,
			   int tasks, int64_t *need);

/* The licences it takes, as amounts of the last place. */
void schedule_request_licenses(const struct schedule_cluster *cluster, const struct schedule_request *request, int64_t *need);

#endif
