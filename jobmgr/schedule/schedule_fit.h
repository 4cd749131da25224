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
	uint64_t preference; /* the candidate with the lowest preference is chosen first */
	int node_index;
	int tasks;
};

/* Demands that other members of a gang make on the nodes of one member. All pointers may be NULL. */
struct schedule_terms {
	const uint64_t *ban;			  /* set of nodes that must not be used */
	const struct schedule_node_tasks *forced; /* the nodes that must be used, and no others */
	size_t forced_count;
	const int64_t *extra; /* amounts that must stay free on each node, for other members of the gang */
};

/* Working space of one run of the scheduler for finding nodes, and the nodes that were found last. */
struct schedule_fit {
	const struct schedule_profile *profile;
	struct schedule_candidate *candidates;
	size_t candidate_count; /* nodes that take at least one task; also valid if the step does not fit */
	int *tasks;
	struct schedule_node_tasks *chosen;
	size_t chosen_count;
	size_t evaluations;
	bool any_nodes; /* the caller asks only whether the step fits, so any nodes will do */

	/* The request and the node of the last start, if that start was on one node. That node was the best for the request
	 * and now has fewer free CPUs. So it stays the best for an equal request as long as that fits. */
	const struct schedule_request *last_request;
	int last_node;
	double last_until;
};

struct schedule_fit *schedule_fit_new(const struct schedule_profile *profile);

/* Returns the number of tasks that a node can take from the view's moment until `until`. */
int schedule_fit_tasks(const struct schedule_profile *profile, const struct schedule_view *view,
		       const struct schedule_request *request, size_t node_index, double until, const int64_t *extra);

/* Are the licences of the request free from the view's moment until `until`? */
bool schedule_fit_licenses(const struct schedule_profile *profile, const struct schedule_view *view,
			   const struct schedule_request *request, double until);

/* Does the request fit? If so, fit->chosen has the nodes in the order of names, or in the forced order. */
bool schedule_fit_nodes(struct schedule_fit *fit, const struct schedule_view *view, const struct schedule_request *request,
			double until, const struct schedule_terms *terms);

/* Spread fewer tasks over the nodes that were found last. Returns false if the nodes cannot take them. */
bool schedule_fit_spread(struct schedule_fit *fit, int ntasks);

#endif
