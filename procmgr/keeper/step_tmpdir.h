/* step_tmpdir.h - the folder TMPDIR of one attempt on one node (--tmpdir, node.tmpdir). */
#ifndef ROTA_PROCMGR_STEP_TMPDIR_H
#define ROTA_PROCMGR_STEP_TMPDIR_H

#include <sys/types.h>

#include "lib/err.h"
#include "procmgr/record/record.h"

/* Make the folder of an attempt in `base`, for a user. Returns its path, malloc'ed, or NULL with an error. */
char *step_tmpdir_make(const char *base, const char *node, const struct record_key *key, uid_t uid, gid_t gid, struct err *e);

/* Remove the folder of an attempt, with all that is in it, if there is one. No process of the attempt may be left. */
void step_tmpdir_remove(const char *base, const char *node, const struct record_key *key);

/* Remove the folders of all attempts of a node that are over. */
void step_tmpdir_sweep(const char *base, const char *node, bool (*is_over)(const struct record_key *key));

#endif
