/* schedule_explain.h - why a step waits, as lines for users. */
#ifndef ROTA_SCHEDULE_EXPLAIN_H
#define ROTA_SCHEDULE_EXPLAIN_H

#include "jobmgr/schedule/schedule_profile.h"
#include "jobmgr/schedule/schedule_request.h"

/* "4 cpus, 2 GB a node, gpu:1 a node on 2 nodes". */
const char *schedule_explain_request(const struct schedule_cluster *cluster, const struct schedule_request *request);

/* "at 2000-01-01 00:00:00": local time, rounded up to a second. */
const char *schedule_explain_at(struct schedule_arena *arena, double at);

/* "812.solve"; only the job where the step has no name. */
const char *schedule_explain_pending(struct schedule_arena *arena, const struct schedule_pending *step);

/* The name of what ends; `source` as in struct schedule_end. Its ids go into the cause. */
const char *schedule_explain_source(const struct schedule_profile *profile, int source, struct schedule_cause *cause);

/* Why a request does not fit now: "needs 4 cpus on 2 nodes; 1 node free; first to end: 812.solve at 2000-01-01 00:00:00". */
struct schedule_cause schedule_explain_resources(struct schedule_arena *arena, const struct schedule_profile *profile,
						 const struct schedule_request *request, size_t nodes_free);

/* Why a request that fits does not start: a backfill reservation is in its way. */
struct schedule_cause schedule_explain_priority(struct schedule_arena *arena, const struct schedule_profile *profile,
						const struct schedule_request *request);

/* Why a request that fits does not start: it would run into an outage. */
struct schedule_cause schedule_explain_maintenance(struct schedule_arena *arena, const struct schedule_profile *profile,
						   const struct schedule_request *request);

/* The first licence that is short. */
struct schedule_cause schedule_explain_license(struct schedule_arena *arena, const struct schedule_profile *profile,
					       const struct schedule_request *request);

/* Why the nodes could never run the request. */
struct schedule_cause schedule_explain_node(struct schedule_arena *arena, const struct schedule_request *request);

#endif
