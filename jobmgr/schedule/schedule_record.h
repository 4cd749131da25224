/* schedule_record.h - collects the result of a run. */
#ifndef ROTA_SCHEDULE_RECORD_H
#define ROTA_SCHEDULE_RECORD_H

#include "jobmgr/schedule/schedule_placement.h"

struct schedule_record;

struct schedule_record *schedule_record_new(const struct schedule_cluster *cluster);

/* A step, or array element, starts with what was taken for it. Its devices are chosen here. */
void schedule_record_start(struct schedule_record *record, const struct schedule_member *member,
			   const struct schedule_placed *placed, const struct schedule_taken *taken, bool backfilled);

/* The starts so far. Returns their number. */
size_t schedule_record_starts(const struct schedule_record *record, const struct schedule_start **starts);

/* A step waits. */
void schedule_record_wait(struct schedule_record *record, size_t pending, const struct schedule_cause *cause);

/* The waiting step is expected to start at `at`, when the step in `after` ends, with what would be taken for it then. */
void schedule_record_expected_start(struct schedule_record *record, size_t pending, double at, const struct schedule_cause *after,
				    const struct schedule_placed *placed, const struct schedule_taken *taken);

/* The result, which now owns the cluster's arena. */
struct schedule_result *schedule_record_finish(struct schedule_record *record, size_t evaluations);

#endif
