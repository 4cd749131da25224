/* schedule_gang.h - the queue as gangs, in the order of decision. A single step is a gang of one. */
#ifndef ROTA_SCHEDULE_GANG_H
#define ROTA_SCHEDULE_GANG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "jobmgr/schedule/schedule_request.h"

struct schedule_member {
	size_t pending;
	const struct schedule_pending *step;
	struct schedule_request *request;
	int64_t seconds; /* the time limit of the next attempt */
	int position;	 /* position of the next array element; -1: the step is no array */
	size_t skip;	 /* number of entries of array_skip before `position` */
	int elements;	 /* number of array elements that start together */
	/* index of the root: of all members on the same nodes (--same-nodes), the one that is placed first */
	size_t root;
	struct schedule_request *joint; /* only of a root: the combined request of all members on the same nodes */
	const int64_t *extra; /* only of the first member on the same nodes: what the other members there need on each node */
	/* only of a root: the request that is tried if `joint`, which spreads all tasks evenly over the fewest nodes, does not
	 * fit. Its tasks are slots; each slot has room for one task of every member on the same nodes. NULL: there is none,
	 * because a member has several elements, or takes whole nodes or all of their memory. */
	struct schedule_request *slots;
	const int64_t *slots_extra; /* what the members need on each node besides the slots, such as --mem and --gres */
};

/* Steps that start together or not at all. `order` is the order of placement. */
struct schedule_gang {
	struct schedule_member *member;
	size_t count;
	size_t *order;
};

/* Advance member->position to the next array element that has not started. Returns false if there is none. */
bool schedule_gang_next_position(struct schedule_member *member);

/* Set the time limits with which the members of a gang are placed next: the full ones, or the shortest that they accept
 * (--time-min). */
void schedule_gang_set_time_limits(struct schedule_gang *gang, bool full);

struct schedule_gang_queue;

struct schedule_gang_queue *schedule_gang_queue_new(const struct schedule_cluster *cluster, struct schedule_requests *requests);

/* Returns the next gang of the queue, or NULL at the end. The gang is valid until the next call. */
struct schedule_gang *schedule_gang_queue_next(struct schedule_gang_queue *queue);

/* Returns the number of members of the gang that are not in the queue. */
int schedule_gang_count_missing(const struct schedule_gang *gang);

/* Returns the number of array elements from member->position on that have not started. */
int schedule_gang_count_elements(const struct schedule_member *member);

#endif
