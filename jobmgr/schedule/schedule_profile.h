/* schedule_profile.h - what is free on each node, now and later.
 *
 * Two lists describe the future: *ends*, when running steps free their resources, and *backfill reservations* of waiting steps.
 * During a step's time, a node has least free either at its beginning or where a reservation begins. So each part of a
 * reservation
 * stores what is left on its node at that moment, and a query about a span of time looks at few numbers.
 *
 * A *view* is the cluster at one moment: the live one (now), a copy moved into the future, or the empty cluster. */
#ifndef ROTA_SCHEDULE_PROFILE_H
#define ROTA_SCHEDULE_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "jobmgr/schedule/schedule_cluster.h"
#include "jobmgr/schedule/schedule_outage.h"

#define SCHEDULE_FOREVER 1e18 /* end of steps without a time limit: later than any known time */
#define SCHEDULE_BEYOND 3e18  /* end of a span without an end: later than SCHEDULE_FOREVER */

struct schedule_end {
	double at;
	int node_index;
	/* What ends: index of a running row; below 0: ~source is a pending step started in this run; beyond the running rows: an
	 * outage. */
	int source;
	const int64_t *amount;
};

struct schedule_reservation_part {
	struct schedule_reservation_part *next; /* on the same node */
	double from, to;
	int node_index;
	const int64_t *draw; /* taken from free resources */
	int64_t *left;	     /* left free when it begins */
};

struct schedule_reservation {
	size_t pending; /* index of its step */
	double from, to;
	struct schedule_reservation_part *parts;
	size_t part_count;
};

struct schedule_view {
	double at;
	int64_t *free;		   /* by node index and kind */
	uint64_t *with_free_cpu;   /* nodes with a free CPU */
	bool ignores_reservations; /* backfill reservations do not count */
	bool ignores_outages;	   /* outages do not count */
	bool empty; /* the empty cluster: ignores reservations and outages, and nothing is reserved for a successor */
};

struct schedule_profile {
	const struct schedule_cluster *cluster;
	struct schedule_outage_list outages;
	struct schedule_view live;
	struct schedule_end *end, *merged; /* the first `sorted` are in order */
	size_t sorted, end_count, end_capacity;
	struct schedule_reservation_part **parts;   /* by node index */
	struct schedule_reservation **reservations; /* in the order of creation */
	struct schedule_reservation **by_from, **by_to;
	size_t reservation_count, reservation_capacity;
	double *first_at; /* by node index: its first end (SCHEDULE_BEYOND: nothing runs there), and of what */
	int *first_source;
	int first_node; /* the node with the first end of all */
};

struct schedule_reserved_index;

struct schedule_profile *schedule_profile_new(const struct schedule_cluster *cluster,
					      const struct schedule_reserved_index *reserved_index);

/* The cluster with nothing running. */
struct schedule_view schedule_profile_empty(const struct schedule_profile *profile);

/* Make `view` a copy of the live view. Memory of an earlier copy is reused. */
void schedule_profile_copy(const struct schedule_profile *profile, struct schedule_view *view);

/* The end of a step that starts at `at` with a limit of `seconds` (0: none). */
double schedule_profile_until(double at, int64_t seconds);

/* The least amount of a kind that is free on a node from the view's moment until `until`. */
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

/* Take resources of a node from the view's moment until `until`, or give them back. */
void schedule_profile_take(struct schedule_profile *profile, struct schedule_view *view, size_t node_index, const int64_t *draw,
			   double until);
void schedule_profile_give(struct schedule_profile *profile, struct schedule_view *view, size_t node_index, const int64_t *draw,
			   double until);

/* Change the view alone: amounts become free (sign 1) or taken (-1) at its moment. */
void schedule_profile_shift(const struct schedule_profile *profile, struct schedule_view *view, size_t node_index,
			    const int64_t *amount, int sign);

/* Resources become free at `at`. `amount` is not copied. */
void schedule_profile_add_end(struct schedule_profile *profile, double at, int node_index, int source, const int64_t *amount);

/* The same for resources that were taken without an end. */
void schedule_profile_add_release(struct schedule_profile *profile, double at, int node_index, int source, const int64_t *amount);

/* Sort the ends. */
void schedule_profile_sort(struct schedule_profile *profile);

/* Add backfill reservations that begin at the view's moment. The caller has taken what they draw from the view. */
void schedule_profile_reserve(struct schedule_profile *profile, const struct schedule_view *view,
			      struct schedule_reservation *reservation, size_t count);

#endif
