/* schedule_explain.h - the lines that tell people why a step waits. */
#ifndef ROTA_SCHEDULE_EXPLAIN_H
#define ROTA_SCHEDULE_EXPLAIN_H

#include "jobmgr/schedule/schedule_profile.h"
#include "jobmgr/schedule/schedule_request.h"

/* "4 cpus, 2 GB a node, gpu:1 a node on 2 nodes". */
const char *schedule_explain_request(const struct schedule_cluster *cluster, const struct schedule_request *request);

/* "at 2000-01-01 00:00:00", by the local clock, the whole second up. */
const char *schedule_explain_at(struct schedule_arena *arena, double at);

/* "812.solve", or what else is known of a step's name. */
const char *schedule_explain_pending(struct schedule_arena *arena, const struct schedule_pending *step);

/* The same of what an end or a hold ends; `source` as in struct schedule_end. Its ids go into the cause. */
const char *schedule_explain_source(const struct schedule_profile *profile, int source, struct schedule_cause *cause);

/* Why a request does not fit now: "needs 4 cpus on 2 nodes; 1 node free; first to end: 812.solve at 2000-01-01 00:00:00". */
struct schedule_cause schedule_explain_resources(struct schedule_arena *arena, const struct schedule_profile *profile,
						 const struct schedule_request *request, size_t nodes_free);

/* Why it may not start though it fits: the reservation in its way. */
struct schedule_cause schedule_explain_priority(struct schedule_arena *arena, const struct schedule_profile *profile,
						const struct schedule_request *request);

/* Why it may not start though it fits: the outage that it would run into. */
struct schedule_cause schedule_explain_maintenance(struct schedule_arena *arena, const struct schedule_profile *profile,
						   const struct schedule_request *request);

/* The first licence that is short. */
struct schedule_cause schedule_explain_license(struct schedule_arena *arena, const struct schedule_profile *profile,
					       const struct schedule_request *request);

/* Why the nodes as they are could never run it. */
struct schedule_cause schedule_explain_node(struct schedule_arena *arena, const struct schedule_request *request);

#endif
