/* spawn.h - a child that only executes a program. */
#ifndef ROTA_PROCMGR_SPAWN_H
#define ROTA_PROCMGR_SPAWN_H

#include <stdbool.h>
#include <sys/types.h>

/* Start a child that runs `child`, which executes a program or ends. Until then it may share the caller's memory: it must not
 * allocate, must change only its own variables, and must change its user by system calls, not by the C library. Returns its
 * pid, -1 where it could not be made. *in_use: it has not executed its program yet, so `arg` and all it points to must stay. */
pid_t spawn_child(int (*child)(void *arg), void *arg, bool *in_use);

#endif
