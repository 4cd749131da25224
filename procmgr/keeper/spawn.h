/* spawn.h - a child that only executes a program. */
#ifndef ROTA_PROCMGR_SPAWN_H
#define ROTA_PROCMGR_SPAWN_H

#include <stdbool.h>
#include <sys/types.h>

/* Start a child that runs `child`, which executes a program or ends; meanwhile it may share our memory, so it allocates nothing, changes
 * nothing that is not its own, and asks the kernel, not the C library, for another user. Its pid, -1 where there can be none. *lent: it
 * is not that far yet, and uses `arg` and all behind it until it executes its program or ends. */
pid_t spawn_child(int (*child)(void *arg), void *arg, bool *lent);

#endif
