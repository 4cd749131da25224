/* gate_job.h - one job of a submission. For gate*.c only. */
#ifndef ROTA_GATE_JOB_H
#define ROTA_GATE_JOB_H

#include "jobmgr/gate/gate_call.h"

struct gate_job {
	json_t *request;   /* the members of the request that concern it */
	char *label;	   /* its name in errors; NULL: it is the only job */
	json_t *plan;	   /* NULL: not made yet */
	json_t *warnings;  /* for the user; NULL: none */
	char *environment; /* packed; NULL: the same as of the job before */
	size_t environment_size;
	size_t size; /* bytes of script and environment that were read for it */
	char environment_hash[SEAL_HEX_SIZE];
};

/* The request for one job of a list: its own members, and those beside the list that it does not have. */
json_t *gate_job_request(const json_t *own, const json_t *common);

/* Make plan and environment of a job. `before` is the job before it in a list, or NULL. False with an error (its code is not ""), or with
 * the problems of its script. */
bool gate_job_plan(const struct gate_call *c, struct gate_job *job, const struct gate_job *before,
		   struct translate_problems *problems, struct err *e);

/* Free plan and environment. */
void gate_job_clear(struct gate_job *job);

#endif
