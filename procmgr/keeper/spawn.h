/* spawn.h - starts a child process that only executes a program. */
#ifndef ROTA_PROCMGR_SPAWN_H
#define ROTA_PROCMGR_SPAWN_H

#include <stdbool.h>
#include <sys/types.h>

/* Start a child that runs `child`, which executes a program or ends. Until the program runs, the child may share the caller's
 * memory: the child must not allocate, must change only its own variables, and must change its user by system calls, not by the C
 * library. Returns the child's pid, or -1 if no child could be made. If *in_use becomes true, the child has not executed its
 * program yet, and `arg` with all that it points to must stay. `namespaces`: flags of clone() for new namespaces; 0: none. */
pid_t spawn_child(int (*child)(void *arg), void *arg, int namespaces, bool *in_use);

#endif
