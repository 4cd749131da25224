/* schedule_explain.h - why a step waits, as lines for users. */
#ifndef ROTA_SCHEDULE_EXPLAIN_H
#define ROTA_SCHEDULE_EXPLAIN_H

#include "jobmgr/schedule/schedule_profile.h"
#include "jobmgr/schedule/schedule_request.h"

/* Returns a request in words, such as "4 cpus, 2 GB a node, gpu:1 a node on 2 nodes". */
const char *schedule_explain_request(const struct schedule_cluster *cluster, const struct schedule_request *request);

/* Returns a time in words, such as "at 2000-01-01 00:00:00": local time, rounded up to a second. */
const char *schedule_explain_at(struct schedule_arena *arena, double at);

/* Returns the name of a pending step, such as "812.solve", or only the job number if the step has no name. */
const char *schedule_explain_pending(struct schedule_arena *arena, const struct schedule_pending *step);

/* Returns the name of a step or outage that ends; `source` is as in struct schedule_end. The ids of a step go into `cause`. */
const char *schedule_explain_source(const struct schedule_profile *profile, int source, struct schedule_cause *cause);

/* Returns why a request does not fit now: "needs 4 cpus on 2 nodes; 1 node free; first to end: 812.solve at 2000-01-01
 * 00:00:00". */
struct schedule_cause schedule_explain_resources(struct schedule_arena *arena, const struct schedule_profile *profile,
						 const struct schedule_request *request, size_t nodes_free);

/* Returns why a request that fits does not start: the backfill reservation that needs the same resources. */
struct schedule_cause schedule_explain_priority(struct schedule_arena *arena, const struct schedule_profile *profile,
						const struct schedule_request *request);

/* Returns why a request that fits does not start: the outage that its step would run into. */
struct schedule_cause schedule_explain_maintenance(struct schedule_arena *arena, const struct schedule_profile *profile,
						   const struct schedule_request *request);

/* Returns why a request waits for licences: the first licence of which too few are free. */
struct schedule_cause schedule_explain_license(struct schedule_arena *arena, const struct schedule_profile *profile,
					       const struct schedule_request *request);

/* Returns why the nodes could never run the request, even if they were free. */
struct schedule_cause schedule_explain_node(struct schedule_arena *arena, const struct schedule_request *request);

#endif
