/* gate_job.h - one job of a submission. For gate*.c only. */
#ifndef ROTA_GATE_JOB_H
#define ROTA_GATE_JOB_H

#include "jobmgr/gate/gate_call.h"
#include "jobmgr/site/site_change.h"

struct gate_job {
	json_t *request;	     /* members of the submission that concern this job */
	char *label;		     /* name of the job in error messages; NULL: the submission has only one job */
	json_t *plan;		     /* plan of the job's steps; NULL: not made yet */
	json_t *warnings;	     /* warnings for the user; NULL: no warnings */
	json_t *desc;		     /* description of the job for the site's script, as a Lua table; NULL: no script judges it */
	json_t *messages;	     /* texts of the site's script for the user; NULL: none */
	struct site_changes changes; /* changes of options that the site's script has made */
	int64_t now;		     /* time of the submission, for the options that name times */
	char *environment;	     /* packed environment; NULL: the same as that of the job before it */
	size_t environment_size;
	size_t size; /* bytes of script and environment that were read for the job */
	char environment_hash[SEAL_HEX_SIZE];
};

/* Returns the text of the job's script: the user's, or the one that the site's script has set. */
json_t *gate_job_script(const struct gate_job *job);

/* Returns the name of the job's script for messages with its line numbers, malloc'ed. */
char *gate_job_script_name(const struct gate_job *job);

/* Returns the request for one job of a list: the job's own members, and those common members that it does not have itself. */
json_t *gate_job_request(const json_t *own, const json_t *common);

/* Set job->desc to the description of a job for the site's script. Returns false with an error or with problems, as
 * gate_job_plan() does. */
bool gate_job_describe(const struct gate_call *c, struct gate_job *job, struct translate_problems *problems, struct err *e);

/* Store the changes of the site's script to job->desc (an object or NULL), and its texts for the user. The next plan of the job
 * has the changes. Returns false with an error if a change is not possible. */
bool gate_job_change(struct gate_job *job, const json_t *changes, const json_t *texts, struct err *e);

/* Make the plan and the environment of a job. `before` is the job before it in a list, or NULL. Returns false with an error
 * whose code is not "", or with problems of the job's script. */
bool gate_job_plan(const struct gate_call *c, struct gate_job *job, const struct gate_job *before,
		   struct translate_problems *problems, struct err *e);

/* Add the job's number to its plan, and to each step an authenticator that covers it. A job that is only tried has number 0. */
void gate_job_authenticate(const struct gate_call *c, const struct gate_job *job, int64_t number);

/* Free all that was made for a job. */
void gate_job_clear(struct gate_job *job);

#endif
