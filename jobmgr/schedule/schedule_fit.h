/* schedule_fit.h - finds nodes for one step at one moment. */
#ifndef ROTA_SCHEDULE_FIT_H
#define ROTA_SCHEDULE_FIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "jobmgr/schedule/schedule_profile.h"
#include "jobmgr/schedule/schedule_request.h"

/* Tasks of a step on one node. */
struct schedule_node_tasks {
	int node_index;
	int tasks;
};

/* A node that can take at least one task. */
struct schedule_candidate {
	uint64_t preference; /* the lowest is chosen first */
	int node_index;
	int tasks;
};

/* What the other members of its gang demand of a step's nodes. All may be NULL. */
struct schedule_terms {
	const uint64_t *ban;			  /* none of these nodes */
	const struct schedule_node_tasks *forced; /* exactly these nodes */
	size_t forced_count;
	const int64_t *extra; /* leave so much free on each node */
};

/* Working space of a run, and the nodes that were found last. */
struct schedule_fit {
	const struct schedule_profile *profile;
	struct schedule_candidate *candidates;
	size_t candidate_count; /* nodes that take at least one task; also valid if the step does not fit */
	int *tasks;
	struct schedule_node_tasks *chosen;
	size_t chosen_count;
	size_t evaluations;
	bool any_nodes; /* any nodes will do: the caller only asks whether the step fits */

	/* The last start, if it was on one node. That node was the best for its request and now has fewer free CPUs, so it
	 * stays the best for the same request as long as it fits. */
	const struct schedule_request *last_request;
	int last_node;
	double last_until;
};

struct schedule_fit *schedule_fit_new(const struct schedule_profile *profile);

/* The tasks that a node can take from the view's moment until `until`. */
int schedule_fit_tasks(const struct schedule_profile *profile, const struct schedule_view *view,
		       const struct schedule_request *request, size_t node_index, double until, const int64_t *extra);

/* Are the licences of the request free for all that time? */
bool schedule_fit_licenses(const struct schedule_profile *profile, const struct schedule_view *view,
			   const struct schedule_request *request, double until);

/* Does the request fit? If so, fit->chosen has the nodes in the order of names, or in the forced order. */
bool schedule_fit_nodes(struct schedule_fit *fit, const struct schedule_view *view, const struct schedule_request *request,
			double until, const struct schedule_terms *terms);

#endif
