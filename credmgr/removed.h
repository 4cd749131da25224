/* removed.h - the credentials that rota-credd knows were removed, in the file `removed` of the folder with its keys.
 *
 * Each line has a credential: uid, name, origin ("-": none), its last version, and when it was removed, in epoch seconds. */
#ifndef ROTA_CREDMGR_REMOVED_H
#define ROTA_CREDMGR_REMOVED_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/err.h"

struct removed;

/* Read the file. Returns NULL with the reason in `e`; a missing file is an empty one. */
struct removed *removed_open(const char *folder, struct err *e);
void removed_free(struct removed *r);

/* Note that a credential was removed. removed_find() finds it at once; removed_save() writes it to the file. Returns false if the name or
 * the origin is not valid. */
bool removed_note(struct removed *r, int64_t uid, const char *name, const char *origin, int version, int64_t at);

/* Have the file keep what was noted. After a failure, the next call tries again. */
bool removed_save(struct removed *r, struct err *e);

/* Returns when this version of a credential had been removed, or 0 if that is not known. Of a credential with an origin, all versions
 * are removed. */
int64_t removed_find(const struct removed *r, int64_t uid, const char *name, const char *origin, int version);

#endif
