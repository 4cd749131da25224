/* gate_site.h - has the site's scripts job_submit and burst_buffer judge a job. For gate*.c only. */
#ifndef ROTA_GATE_SITE_H
#define ROTA_GATE_SITE_H

#include "jobmgr/gate/gate_call.h"

/* Does the site have a script job_submit? */
bool gate_site_is_set(const struct gate_server *server);

/* Handler of a job that the script has accepted. `changes` is an object with the fields of `desc` that the script set; NULL:
 * the script could not judge the job, and hooks.broken is "accept". `texts` is a list of texts for the user. Both are valid
 * until the handler returns. */
typedef void gate_site_handler(struct gate_call *c, const json_t *changes, const json_t *texts);

/* Have a function of the script job_submit judge a job: `desc` describes what is requested, `rec` the job as it is (NULL: a new
 * job). If the function refuses the job, the call ends with the texts and the message of the function. `label` names one of
 * several jobs in these; NULL: there is one. If the client is gone, the call ends without an answer. */
void gate_site_ask(struct gate_call *c, const char *function, const json_t *desc, const json_t *rec, const char *label,
		   gate_site_handler *then);

/* Have slurm_bb_job_process of the script burst_buffer judge a job with directives: its script (a JSON string) and its plan.
 * `then` is called as by gate_site_ask(), but without changes. */
void gate_site_ask_staging(struct gate_call *c, const json_t *script, const json_t *plan, const char *label,
			   gate_site_handler *then);

/* Append texts for the user to *list, which is made if it is NULL. */
void gate_site_add_texts(json_t **list, const json_t *texts);

/* Add to the hint of an error the names of the fields that the script has set; NULL: it has set none. */
void gate_site_explain(const char *names, struct err *e);

#endif
