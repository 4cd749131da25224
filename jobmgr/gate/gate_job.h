/* gate_job.h - one of the jobs that a submission asks for. For the files of the gate only. */
#ifndef ROTA_GATE_JOB_H
#define ROTA_GATE_JOB_H

#include "jobmgr/gate/gate_call.h"

/* The members of what asks for a job. */
#define GATE_JOB_MEMBERS "script script_name arguments options environment workdir umask rlimits client_key retry_key"

struct gate_job {
	json_t *request;   /* what is asked for */
	char *label;	   /* what errors call it, in a list; NULL: the only job */
	json_t *plan;	   /* NULL: not made yet */
	json_t *warnings;  /* about it, for its owner; NULL: none */
	char *environment; /* packed, of so many bytes; NULL: as the job before has it */
	size_t environment_size;
	size_t size; /* bytes of script and environment that were looked through for it */
	char environment_hash[SEAL_HEX_SIZE];
};

/* The request for one of a list: what it says itself, and what stands beside the list. */
json_t *gate_job_request(const json_t *own, const json_t *common);

/* Make plan and environment of a job; `before` is the one before it in a list, or NULL. False with an error (its code is not ""), or with
 * the problems of its script. */
bool gate_job_plan(const struct gate_call *c, struct gate_job *job, const struct gate_job *before,
		   struct translate_problems *problems, struct err *e);

/* Free plan and environment. */
void gate_job_forget(struct gate_job *job);

#endif
