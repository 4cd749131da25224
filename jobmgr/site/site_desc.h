/* site_desc.h - a job as the site's script job_submit sees it. */
#ifndef ROTA_SITE_DESC_H
#define ROTA_SITE_DESC_H

#include <jansson.h>
#include <sys/types.h>

/* The parts of a submission other than its options. */
struct site_subject {
	uid_t uid;
	gid_t gid;
	const char *user;
	const char *workdir;	   /* folder of the client */
	const json_t *script;	   /* text; NULL: none */
	const json_t *arguments;   /* list of strings; NULL: none */
	const json_t *environment; /* list of "NAME=value"; NULL: none */
};

/* Returns `desc` of slurm_job_submit, or of slurm_job_modify, from an answer of translate_describe(). Fields without a value are
 * absent. */
json_t *site_desc(const json_t *described, const struct site_subject *subject);

/* Returns `rec` of slurm_job_modify: a step as api.job_spec has it, with its job. */
json_t *site_rec(const json_t *step);

/* Returns `parts` from an answer of api.submit_limits: the partitions that are open to a user and to groups (a list of names;
 * NULL: none known). */
json_t *site_parts(const json_t *limits, const char *user, const json_t *groups);

#endif
