/* gate_site.h - asks the site's script job_submit about a job. For gate*.c only. */
#ifndef ROTA_GATE_SITE_H
#define ROTA_GATE_SITE_H

#include "jobmgr/gate/gate_call.h"

/* Does the site have a script job_submit? */
bool gate_site_is_set(const struct gate_server *server);

/* Called when the script has accepted a job. `changes` is an object with the fields of `desc` that the script set; NULL: the script could
 * not be called, and hooks.broken is "accept". `texts` is a list of texts for the user. Both are valid until the function returns. */
typedef void gate_site_handler(struct gate_call *c, const json_t *changes, const json_t *texts);

/* Have a function of the script judge a job: `desc`, `rec` (NULL: a new job). If the function refuses the job, the call ends with the
 * texts and the message of the function. `label` names one of several jobs in these; NULL: there is one. The call ends without an
 * answer if the client is gone. */
void gate_site_ask(struct gate_call *c, const char *function, const json_t *desc, const json_t *rec, const char *label,
		   gate_site_handler *then);

/* Have slurm_bb_job_process of the script burst_buffer judge a job with directives: its script (a JSON string) and its plan. `then` is
 * called as by gate_site_ask(), without changes. */
void gate_site_ask_staging(struct gate_call *c, const json_t *script, const json_t *plan, const char *label,
			   gate_site_handler *then);

/* Append texts for the user to a list, which is made if it is NULL. */
void gate_site_add_texts(json_t **list, const json_t *texts);

/* Name the fields that the script has set in the hint of an error. `names` is NULL if it has set none. */
void gate_site_explain(const char *names, struct err *e);

#endif
