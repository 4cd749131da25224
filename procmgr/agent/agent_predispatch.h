/* agent_predispatch.h - elements of arrays that were ordered before CPUs are free for them (pre-dispatched). */
#ifndef ROTA_PROCMGR_AGENT_PREDISPATCH_H
#define ROTA_PROCMGR_AGENT_PREDISPATCH_H

#include "procmgr/record/record.h"

struct agent_predispatch; /* the attempts that run on this node */

/* An array of which elements are pre-dispatched: the steps `first` to `last` of the job. last 0: nothing is pre-dispatched. */
struct agent_array {
	int64_t job_id;
	int first, last;
	int concurrency; /* how many of these steps may run here at once */
};

/* With the attempts in spool/. unlimited: virtual nodes run nothing, so nothing waits for CPUs. */
struct agent_predispatch *agent_predispatch_new(bool unlimited);
void agent_predispatch_free(struct agent_predispatch *p);

/* The attempt runs from now on. Call it before the launcher gets the order. */
void agent_predispatch_start(struct agent_predispatch *p, const struct record_key *key);

/* The journal has a record of the attempt. True where the attempt ended while it was suspended: its CPUs then went to another
 * step. */
bool agent_predispatch_record(struct agent_predispatch *p, const struct record_key *key, const struct fields *record);

bool agent_predispatch_runs(const struct agent_predispatch *p, const struct record_key *key);

/* How many more elements of the array may start. */
int agent_predispatch_free_slots(const struct agent_predispatch *p, const struct agent_array *array);

/* An attempt has ended suspended: lower the limit of the array, if the attempt is one of its elements. */
void agent_predispatch_lower(struct agent_array *array, const struct record_key *key);

#endif
