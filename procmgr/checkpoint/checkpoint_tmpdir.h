/* checkpoint_tmpdir.h - saves the step's own TMPDIR (--tmpdir) in its checkpoints, and restores it from them. */
#ifndef ROTA_CHECKPOINT_TMPDIR_H
#define ROTA_CHECKPOINT_TMPDIR_H

#include <stdbool.h>

#include "lib/err.h"

/* Save the TMPDIR `path` ("": the step has none) into the folder `part` of a checkpoint. Entries that do not belong to the caller
 * are left out. */
bool tmpdir_save(const char *path, int part, struct err *e);

/* Restore the TMPDIR `path` from the checkpoint in the folder `from` (NULL: the step begins, so nothing is restored). */
bool tmpdir_restore(const char *path, const char *from, struct err *e);

#endif
