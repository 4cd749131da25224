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

/* Why the steps with one request wait. */
struct schedule_cause {
	enum schedule_reason reason;
	int64_t job; /* job and step that the steps wait for; step -1: no such step is known */
	int step;
	const char *message;
	bool blocks; /* the steps block their partition: later steps of it must not delay them */
	bool closes; /* no later step of the queue gets the licences that the waiting steps lack */
};

struct schedule_request {
	const struct schedule_pending *step; /* the first step in the queue with this request */
	int partition;			     /* index of the partition in the snapshot; -1: no such partition */
	struct schedule_reserved *reserved;  /* resources reserved for the one step that has this request */
	uint64_t *mask;			     /* set of usable nodes that match the request */
	uint64_t *data;			     /* set of nodes that have data of the step; NULL: none has */
	/* number of nodes that match the request; number of usable nodes among the matching ones */
	size_t matching, usable;
	int nodes_min, nodes_max;   /* nodes_min is at least 1; nodes_max INT_MAX: as many nodes as needed */
	int ntasks, tasks_per_node; /* ntasks is at least nodes_min; tasks_per_node INT_MAX: no limit */
	int cpus_per_task;
	int64_t mem_mb, mem_per_cpu_mb;
	bool whole_memory; /* the step gets all memory of each node */
	bool exclusive;
	struct schedule_need *gres, *licenses;
	size_t gres_count, license_count;
	int *forced; /* indices of the nodes that the step must use, in this order */
	size_t forced_count;
	int64_t full_s, least_s; /* time limit, and the shortest one that the step accepts; 0: unlimited */
	bool refused;		 /* the request cannot start whatever is free, see `cause` */
	bool possible;		 /* the request fits on the empty cluster */
	bool failed;		 /* the request did not fit in this run, see `cause` */
	bool no_later_start;	 /* no expected start was found, so this run looks for none again; the next run may find one */
	struct schedule_cause cause;
	const char *description;       /* the request in words: "4 cpus on 2 nodes" */
	struct schedule_request *next; /* next request of the same hash bucket */
	const char *key;
	size_t key_length;
};

struct schedule_requests; /* hash table of the requests of one run */

struct schedule_requests *schedule_requests_new(const struct schedule_cluster *cluster,
						const struct schedule_reserved_index *reserved_index);
void schedule_requests_free(struct schedule_requests *requests);

/* Returns the request of a pending step: an equal one from the table, or a new one after its evaluation. */
struct schedule_request *schedule_request_of(struct schedule_requests *requests, const struct schedule_pending *step);

/* Set `need` to the amounts that `tasks` tasks of the request need on one node. */
void schedule_request_need(const struct schedule_cluster *cluster, const struct schedule_request *request, int node_index,
			   int tasks, int64_t *need);

/* Set `need` to the licences that the request needs, as amounts of node index `nodes`. */
void schedule_request_licenses(const struct schedule_cluster *cluster, const struct schedule_request *request, int64_t *need);

#endif
