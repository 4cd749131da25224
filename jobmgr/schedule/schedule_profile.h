/* schedule_profile.h - the free resources of each node, now and later.
 *
 * Two lists describe the future: *ends*, when running steps free their resources, and *backfill reservations* of waiting
 * steps. During a step's time, a node has least free either at its beginning or where a reservation begins. So each part of a
 * reservation stores the free resources of its node when it begins, and a query about a span of time reads few numbers.
 *
 * A *view* is the cluster at one moment: the live one (now), a copy moved into the future, or the empty cluster. */
#ifndef ROTA_SCHEDULE_PROFILE_H
#define ROTA_SCHEDULE_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "jobmgr/schedule/schedule_cluster.h"
#include "jobmgr/schedule/schedule_outage.h"

#define SCHEDULE_FOREVER 1e18 /* end time of steps without a time limit: later than any known time */
#define SCHEDULE_BEYOND 3e18  /* end of a time span that has no end: later than SCHEDULE_FOREVER */

struct schedule_end {
	double at;
	int node_index;
	/* The step or outage that ends. From 0 on: index of a running row. Below 0: ~source is the index of a pending step
	 * that this run started or gave a backfill reservation. Beyond the running rows: an outage. */
	int source;
	const int64_t *amount;
};

struct schedule_reservation_part {
	struct schedule_reservation_part *next; /* next part of a backfill reservation on the same node */
	double from, to;
	int node_index;
	const int64_t *draw; /* amounts that the reservation takes from free resources of the node */
	int64_t *left;	     /* amounts left free on the node when the reservation begins */
};

struct schedule_reservation {
	size_t pending; /* index of the pending step that has the backfill reservation */
	double from, to;
	struct schedule_reservation_part *parts;
	size_t part_count;
};

struct schedule_view {
	double at;
	int64_t *free;		   /* free amounts, by node index and kind */
	uint64_t *with_free_cpu;   /* set of nodes with a free CPU */
	bool ignores_reservations; /* backfill reservations do not count in this view */
	bool ignores_outages;	   /* outages do not count in this view */
	bool empty; /* the view is the empty cluster: no backfill reservations, no outages, nothing reserved for a successor */
};

struct schedule_profile {
	const struct schedule_cluster *cluster;
	struct schedule_outage_list outages;
	struct schedule_view live;
	struct schedule_end *end, *merged; /* ends of running steps and outages; the first `sorted` ones are in order */
	size_t sorted, end_count, end_capacity;
	struct schedule_reservation_part **parts;   /* first part of a backfill reservation, by node index */
	struct schedule_reservation **reservations; /* backfill reservations in the order of creation */
	struct schedule_reservation **by_from, **by_to;
	size_t reservation_count, reservation_capacity;
	size_t first_reserved; /* index of the first running row that is reserved for a successor; number of rows: none is */
	double *first_at; /* by node index: time and source of the first end on the node; SCHEDULE_BEYOND: nothing runs there */
	int *first_source;
	int first_node; /* index of the node with the first end of all */
};

struct schedule_reserved_index;

struct schedule_profile *schedule_profile_new(const struct schedule_cluster *cluster,
					      const struct schedule_reserved_index *reserved_index);

/* Returns a view of the cluster with nothing running. */
struct schedule_view schedule_profile_empty(const struct schedule_profile *profile);

/* Make `view` a copy of the live view. Memory of an earlier copy in `view` is reused. */
void schedule_profile_copy(const struct schedule_profile *profile, struct schedule_view *view);

/* Returns the end of a step that starts at `at` with a time limit of `seconds` (0: no limit). */
double schedule_profile_until(double at, int64_t seconds);

/* Returns the least amount of one kind of resource that is free on a node from the view's moment until `until`. */
static inline int64_t schedule_profile_least_free(const struct schedule_profile *profile, const struct schedule_view *view,
						  size_t node_index, size_t kind, double until)
{
	int64_t least = view->free[node_index * profile->cluster->kinds + kind];
	if (view->ignores_reservations)
		return least;
	for (const struct schedule_reservation_part *part = profile->parts[node_index]; part; part = part->next)
		if (part->from > view->at && part->from < until && part->left[kind] < least)
			least = part->left[kind];
	return least;
}

/* Take resources of a node from the view's moment until `until`, or give taken ones back. */
void schedule_profile_take(struct schedule_profile *profile, struct schedule_view *view, size_t node_index, const int64_t *draw,
			   double until);
void schedule_profile_give(struct schedule_profile *profile, struct schedule_view *view, size_t node_index, const int64_t *draw,
			   double until);

/* Change only the view, not the ends: amounts become free (sign 1) or taken (sign -1) at the view's moment. */
void schedule_profile_shift(const struct schedule_profile *profile, struct schedule_view *view, size_t node_index,
			    const int64_t *amount, int sign);

/* Add the end of a step or outage: `amount` becomes free at `at`. `amount` is not copied. */
void schedule_profile_add_end(struct schedule_profile *profile, double at, int node_index, int source, const int64_t *amount);

/* Add an end at which `amount` becomes free that backfill reservations count as taken for ever. `amount` is not copied. */
void schedule_profile_add_release(struct schedule_profile *profile, double at, int node_index, int source, const int64_t *amount);

/* Sort the ends of running steps and outages by time. */
void schedule_profile_sort(struct schedule_profile *profile);

/* Add backfill reservations that begin at the view's moment. The caller has taken their resources from the view. */
void schedule_profile_reserve(struct schedule_profile *profile, const struct schedule_view *view,
			      struct schedule_reservation *reservation, size_t count);

#endif
