/* site_change.h - the changes that the site's script job_submit has made to a job, as options. */
#ifndef ROTA_SITE_CHANGE_H
#define ROTA_SITE_CHANGE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "jobmgr/translate/translate.h"
#include "lib/err.h"

struct site_changes {
	struct translate_change *list; /* changes of options, for the translator; their values are malloc'ed */
	int count;
	json_t *environment; /* {"NAME": "value"}, or null for a variable to remove; NULL: no change */
	json_t *script;	     /* text of the job's script instead of the user's; NULL: no change */
	const json_t *rec;   /* during site_changes_read(): the job as it was before the script; NULL: a new job */
	json_t *kept;	     /* [{"field", "before", "after"}]: every change, for the record of the job; NULL: none */
};

/* Read "changes" of an answer of the site's script. `desc` and `rec` (NULL: a new job) are what the script was given, `now` is
 * the time of the request. A field whose value is the same as before is no change. Changes of fields that identify the user, or
 * that neither Slurm nor Rota has, are ignored and logged. Returns false with an error (RT422) that names the field if a change
 * is not possible. */
bool site_changes_read(struct site_changes *c, const json_t *desc, const json_t *rec, const json_t *changes, int64_t now,
		       struct err *e);
void site_changes_clear(struct site_changes *c);

/* Returns the names of all changed fields, separated by ", "; malloc'ed; NULL: none. */
char *site_changes_names(const struct site_changes *c);

#endif
