/* schedule_fit.h - places one step on the nodes at one moment. */
#ifndef ROTA_SCHEDULE_FIT_H
#define ROTA_SCHEDULE_FIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "jobmgr/schedule/schedule_profile.h"
#include "jobmgr/schedule/schedule_request.h"

/* Some tasks of a step on a place. */
struct schedule_node_tasks {
	int node_index;
	int tasks;
};

/* A place that can take some tasks. */
struct schedule_candidate {
	uint64_t preference; /* the lowest is taken first */
	int node_index;
	int tasks;
};

/* What the members of a `with` set have to say about each other. All may be NULL. */
struct schedule_terms {
	const uint64_t *ban;			  /* none of these places */
	const struct schedule_node_tasks *forced; /* exactly the places of these */
	size_t forced_count;
	const int64_t *extra; /* leave so much on each place */
};

/* Working space of a pass, and the answer of the last question: where the step fits. */
struct schedule_fit {
	const struct schedule_profile *profile;
	struct schedule_candidate *candidates;
	size_t candidate_count; /* also when the answer is no: how many nodes could take at least one task */
	int *tasks;
	struct schedule_node_tasks *chosen;
	size_t chosen_count;
	size_t evaluations;
	bool any_nodes; /* the question is only whether, not where: the first answer will do */

	/* The last start, when it was of one node: as that node was the best for its request and has become better still (it has
	 * fewer free cpus), it is the best for the same request again as long as it can take it. */
	const struct schedule_request *last_request;
	int last_node;
	double last_until;
};

struct schedule_fit *schedule_fit_new(const struct schedule_profile *profile);

/* How many tasks a place can take from the view's moment until `until`. */
int schedule_fit_tasks(const struct schedule_profile *profile, const struct schedule_view *view,
		       const struct schedule_request *request, size_t node_index, double until, const int64_t *extra);

/* Are its licences free all that time? */
bool schedule_fit_licenses(const struct schedule_profile *profile, const struct schedule_view *view,
			   const struct schedule_request *request, double until);

/* Is there room on the nodes? Then fit->spot says where, in the order of names (or as forced). */
bool schedule_fit_nodes(struct schedule_fit *fit, const struct schedule_view *view, const struct schedule_request *request,
			double until, const struct schedule_terms *terms);

#endif
