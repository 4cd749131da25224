/* agent_predispatch.h - counts running array elements, so that pre-dispatched ones start when CPUs are free. */
#ifndef ROTA_PROCMGR_AGENT_PREDISPATCH_H
#define ROTA_PROCMGR_AGENT_PREDISPATCH_H

#include "procmgr/record/record.h"

struct agent_predispatch; /* the set of attempts that run on this node */

/* An array with pre-dispatched elements, which are the steps `first` to `last` of the job. If `last` is 0, no element is
 * pre-dispatched. */
struct agent_array {
	int64_t job_id;
	int first, last;
	int concurrency; /* how many elements of the array may run on this node at once */
};

/* Start with the attempts in spool/. `unlimited` is for virtual nodes: they run nothing, so no element waits for CPUs. */
struct agent_predispatch *agent_predispatch_new(bool unlimited);
void agent_predispatch_free(struct agent_predispatch *p);

/* Count the attempt as running. Call this function before the launcher gets the launch request. */
void agent_predispatch_start(struct agent_predispatch *p, const struct record_key *key);

/* Handle a journal record of the attempt. Returns true if the attempt ended while suspended: the CPUs of a suspended attempt have
 * gone to another step. */
bool agent_predispatch_record(struct agent_predispatch *p, const struct record_key *key, const struct fields *record);

/* Has the attempt completed on this node a moment ago, and all of its records are in the journal? */
bool agent_predispatch_has_completed(const struct agent_predispatch *p, const struct record_key *key);

bool agent_predispatch_runs(const struct agent_predispatch *p, const struct record_key *key);

/* Returns the number of further elements of the array that may start now. */
int agent_predispatch_free_slots(const struct agent_predispatch *p, const struct agent_array *array);

/* Set the concurrency limit of an array whose launch request was just read to at least the number of its running elements: some
 * may have got CPUs of their own after the request was committed, by launch requests that are done already. */
void agent_predispatch_adopt(const struct agent_predispatch *p, struct agent_array *array);

/* Raise the array's concurrency limit if the attempt, which starts with CPUs of its own, is an element of the array. */
void agent_predispatch_raise(struct agent_array *array, const struct record_key *key);

/* After an attempt has ended while suspended, lower the array's concurrency limit if the attempt is an element of the array. */
void agent_predispatch_lower(struct agent_array *array, const struct record_key *key);

#endif
