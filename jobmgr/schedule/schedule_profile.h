/* schedule_profile.h - what is free on each place, now and later.
 *
 * Later is described by two lists: *ends*, when something running gives its resources back, and *holds*, the
 * reservations of steps that wait. Between now and the end of a step's time, what is free on a place is least either
 * now or where a hold begins; so each piece of a hold remembers what is left on its place at that moment, and a
 * question about a window of time looks at a handful of numbers.
 *
 * Whoever asks does it through a *view*: the cluster at one moment, the live one (now), a copy moved into the
 * future (schedule_earliest.c), or the cluster with nothing on it. */
#ifndef ROTA_SCHEDULE_PROFILE_H
#define ROTA_SCHEDULE_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "jobmgr/schedule/schedule_cluster.h"
#include "jobmgr/schedule/schedule_outage.h"

#define SCHEDULE_FOREVER 1e18 /* when what has no time limit ends: every time that is known comes before */
#define SCHEDULE_BEYOND 3e18  /* the end of a window without end: FOREVER lies inside */

struct schedule_end {
	double at;
	int node_index;
	/* What ends: a running row; below 0, ~source is a pending step started in this pass; behind the running rows, an outage. */
	int source;
	const int64_t *amount;
};

struct schedule_reservation_part {
	struct schedule_reservation_part *next; /* on the same place */
	double from, to;
	int node_index;
	const int64_t *draw; /* what it takes of what is free */
	int64_t *left;	     /* what is left when it begins */
};

struct schedule_reservation {
	size_t pending; /* the step it is for */
	double from, to;
	struct schedule_reservation_part *parts;
	size_t part_count;
};

struct schedule_view {
	double at;
	int64_t *free;		   /* by place and kind */
	uint64_t *with_free_cpu;   /* places with a free cpu */
	bool ignores_reservations; /* holds do not count */
	bool ignores_outages;	   /* outages do not count */
	bool empty;		   /* the cluster with nothing on it: blind and calm, and nothing is kept */
};

struct schedule_profile {
	const struct schedule_cluster *cluster;
	struct schedule_outage_list outages;
	struct schedule_view live;
	struct schedule_end *end, *merged; /* the first `sorted` are in order */
	size_t sorted, end_count, end_capacity;
	struct schedule_reservation_part **parts;   /* by place */
	struct schedule_reservation **reservations; /* in the order they were made */
	struct schedule_reservation **by_from, **by_to;
	size_t reservation_count, reservation_capacity;
	double *first_at; /* by place: its first end (BEYOND: nothing runs there), and of what */
	int *first_source;
	int first_node; /* of the nodes, the one with the first of these */
};

struct schedule_reserved_index;

struct schedule_profile *schedule_profile_new(const struct schedule_cluster *cluster,
					      const struct schedule_reserved_index *reserved_index);

/* The cluster with nothing on it. */
struct schedule_view schedule_profile_empty(const struct schedule_profile *profile);

/* Make `view` a copy of the live one, to be moved; what it holds from an earlier copy is used again. */
void schedule_profile_copy(const struct schedule_profile *profile, struct schedule_view *view);

/* When something that begins at `at` and may take `seconds` (0: no limit) ends. */
double schedule_profile_until(double at, int64_t seconds);

/* The least that is free of a kind on a place from the view's moment until `until`. */
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

/* Take resources of a place from the view's moment until `until`, or give them back. */
void schedule_profile_take(struct schedule_profile *profile, struct schedule_view *view, size_t node_index, const int64_t *draw,
			   double until);
void schedule_profile_give(struct schedule_profile *profile, struct schedule_view *view, size_t node_index, const int64_t *draw,
			   double until);

/* Add to a view alone what becomes free (sign 1) or taken (-1) at its moment. */
void schedule_profile_shift(const struct schedule_profile *profile, struct schedule_view *view, size_t node_index,
			    const int64_t *amount, int sign);

/* Something ends: its amounts become free then. They are kept by reference. */
void schedule_profile_add_end(struct schedule_profile *profile, double at, int node_index, int source, const int64_t *amount);

/* What was thought taken for good is free from `at` on. */
void schedule_profile_add_release(struct schedule_profile *profile, double at, int node_index, int source, const int64_t *amount);

/* Put the ends in order. */
void schedule_profile_sort(struct schedule_profile *profile);

/* Reservations that begin together at the view's moment; what their pieces draw has been taken of the view already. */
void schedule_profile_reserve(struct schedule_profile *profile, const struct schedule_view *view,
			      struct schedule_reservation *reservation, size_t count);

#endif
