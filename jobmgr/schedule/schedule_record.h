/* schedule_record.h - collects the result of one run of the scheduler. */
#ifndef ROTA_SCHEDULE_RECORD_H
#define ROTA_SCHEDULE_RECORD_H

#include "jobmgr/schedule/schedule_placement.h"

struct schedule_record;

struct schedule_record *schedule_record_new(const struct schedule_cluster *cluster);

/* Record that a step or array element starts with the resources in `taken`. Its devices are chosen here. */
void schedule_record_start(struct schedule_record *record, const struct schedule_member *member,
			   const struct schedule_placed *placed, const struct schedule_taken *taken, bool backfilled);

/* Get the steps and array elements that start in this run so far. Returns the number of starts. */
size_t schedule_record_starts(const struct schedule_record *record, const struct schedule_start **starts);

/* Record that a step or array element waits for the power or the setup of nodes in `taken`. It starts when these are on and
 * have the setup that it needs. Nodes that are off are to be powered on, and those with another setup to get the right one. */
void schedule_record_node_wait(struct schedule_record *record, const struct schedule_member *member,
			       const struct schedule_placed *placed, const struct schedule_taken *taken,
			       const struct schedule_cause *cause);

/* Record that a step waits, and why. If elements of an array wait for the power or setup of nodes, that stays the array's
 * reason. */
void schedule_record_wait(struct schedule_record *record, size_t pending, const struct schedule_cause *cause);

/* Record that a waiting step is expected to start at `at`, when the step in `after` ends. `taken` has the resources that it
 * would get then. */
void schedule_record_expected_start(struct schedule_record *record, size_t pending, double at, const struct schedule_cause *after,
				    const struct schedule_placed *placed, const struct schedule_taken *taken);

/* Returns the result of the run. The result takes over the arena of the cluster. */
struct schedule_result *schedule_record_finish(struct schedule_record *record, size_t evaluations);

#endif
