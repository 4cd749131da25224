/* checkpoint_tmpdir.h - the step's own TMPDIR in its checkpoints (--tmpdir). */
#ifndef ROTA_CHECKPOINT_TMPDIR_H
#define ROTA_CHECKPOINT_TMPDIR_H

#include <stdbool.h>

#include "lib/err.h"

/* Save the folder `path` ("": there is none) into the folder `part` of a checkpoint, apart from what is not the caller's. */
bool tmpdir_save(const char *path, int part, struct err *e);

/* Put what the checkpoint in the folder `from` (NULL: the step begins) has of it into the folder `path`. */
bool tmpdir_restore(const char *path, const char *from, struct err *e);

#endif
