/* schedule_gang.h - the queue of a pass as units, in the order in which they are decided. */
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
	int64_t seconds;		/* the time limit to try it with */
	int position;			/* of the first array element to start, -1: no array */
	size_t skip;			/* how many of array_skip lie before it */
	int elements;			/* how many elements start together */
	size_t root;			/* --same-nodes: the member that is placed first, for all that share its nodes */
	struct schedule_request *joint; /* of such a root: what all that share its nodes ask of them */
	const int64_t *extra;		/* ... and what the others need on each */
};

/* Steps that start together or not at all; `order` is the one in which they are placed. */
struct schedule_gang {
	struct schedule_member *member;
	size_t count;
	size_t *order;
};

/* The next position of an array that is neither started nor to be skipped, from member->position on; false: there is none. */
bool schedule_gang_next_position(struct schedule_member *member);

struct schedule_gang_queue;

struct schedule_gang_queue *schedule_gang_queue_new(const struct schedule_cluster *cluster, struct schedule_requests *requests);

/* The next unit, NULL behind the last. A `with` set comes when the last of its members that is there would. It is valid
 * until the next call. */
struct schedule_gang *schedule_gang_queue_next(struct schedule_gang_queue *queue);

/* How many members a unit lacks. */
int schedule_gang_count_missing(const struct schedule_gang *gang);

/* How many elements of an array wait to be started, from member->position on. */
int schedule_gang_count_elements(const struct schedule_member *member);

#endif
