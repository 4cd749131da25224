/* removed.h - the list of removed credentials, which rota-credd keeps in the file `removed` beside its keys.
 *
 * A line has one credential: uid, name, origin ("-": none), last version, and the time of removal in seconds since 1970. */
#ifndef ROTA_CREDMGR_REMOVED_H
#define ROTA_CREDMGR_REMOVED_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/err.h"

struct removed;

/* Read the file. Returns NULL with the reason in `e`; a missing file is an empty one. */
struct removed *removed_open(const char *folder, struct err *e);

/* Read the file again, to which another rota-credd that shares the folder may have added lines. Removals that are in memory stay there. */
bool removed_read(struct removed *r, struct err *e);
void removed_free(struct removed *r);

/* Add a credential to the list in memory, where removed_find() finds it; removed_save() writes it to the file. Returns false if the name
 * or the origin is not valid. */
bool removed_note(struct removed *r, int64_t uid, const char *name, const char *origin, int version, int64_t at);

/* Write the entries that were added to the file, and sync it. After a failure, the next call tries again. */
bool removed_save(struct removed *r, struct err *e);

/* Returns when a credential was removed, or 0 if this version of it is not in the list. If the credential has an origin, all its versions
 * are removed. */
int64_t removed_find(const struct removed *r, int64_t uid, const char *name, const char *origin, int version);

#endif
