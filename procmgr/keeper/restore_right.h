/* restore_right.h - lets a process of the user restore processes in a PID namespace of its own. */
#ifndef ROTA_PROCMGR_RESTORE_RIGHT_H
#define ROTA_PROCMGR_RESTORE_RIGHT_H

#include <stdbool.h>

#include "lib/err.h"

/* Call as root in the first process of a PID namespace. Mounts the /proc of that namespace, and makes the process keep its
 * capabilities when it becomes the user. */
bool restore_right_prepare(struct err *e);
/* Call as the user. Drops all capabilities but CAP_CHECKPOINT_RESTORE, which programs of the process inherit. */
bool restore_right_take(struct err *e);

#endif
