/* schedule_request.h - the distinct requests of the pending steps.
 *
 * Steps with equal requests are placed alike. A request that did not fit fits no later step of the same run, since a run only
 * takes resources away. */
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

/* Why the steps of a request wait. */
struct schedule_cause {
	enum schedule_reason reason;
	int64_t job; /* the step they wait for; step -1: none is known */
	int step;
	const char *message;
	bool blocks; /* later steps must not delay them */
	bool closes; /* the licences they lack are closed to later steps */
};

struct schedule_request {
	const struct schedule_pending *step; /* the first step with this request */
	int partition;			     /* index in the snapshot, -1: no such partition */
	struct schedule_reserved *reserved;  /* reserved resources of its one step */
	uint64_t *mask;			     /* usable nodes it may run on */
	size_t matching, usable;	     /* nodes that match; usable ones of these */
	int nodes_min, nodes_max;	     /* at least 1; INT_MAX: as many as needed */
	int ntasks, tasks_per_node;	     /* at least nodes_min; INT_MAX: no limit */
	int cpus_per_task;
	int64_t mem_mb, mem_per_cpu_mb;
	bool whole_memory; /* all memory of each node */
	bool exclusive;
	struct schedule_need *gres, *licenses;
	size_t gres_count, license_count;
	int *forced; /* node indices: exactly these, in this order */
	size_t forced_count;
	int64_t full_s, least_s; /* its time limit, and the least it accepts; 0: unlimited */
	bool refused;		 /* cannot start whatever is free, see cause */
	bool possible;		 /* fits on the empty cluster */
	bool failed;		 /* did not fit in this run, see cause */
	bool no_later_start;	 /* no later start was found; the next run sees what this one releases */
	struct schedule_cause cause;
	const char *description;       /* "4 cpus on 2 nodes" */
	struct schedule_request *next; /* of the same bucket */
	const char *key;
	size_t key_length;
};

struct schedule_requests; /* the table of a run */

struct schedule_requests *schedule_requests_new(const struct schedule_cluster *cluster,
						const struct schedule_reserved_index *reserved_index);
void schedule_requests_free(struct schedule_requests *requests);

/* The request of a pending step: a known one, or a new one after its evaluation. */
struct schedule_request *schedule_request_of(struct schedule_requests *requests, const struct schedule_pending *step);

/* What so many of its tasks need on a node. */
void schedule_request_need(const struct schedule_cluster *cluster, const struct schedule_request *request, int node_index,
			   int tasks, int64_t *need);

/* The licences it needs, as amounts of node index `nodes`. */
void schedule_request_licenses(const struct schedule_cluster *cluster, const struct schedule_request *request, int64_t *need);

#endif
