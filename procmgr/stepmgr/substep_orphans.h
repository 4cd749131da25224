/* substep_orphans.h - ends of tasks whose step manager has died: the keeper reaps them (procmgr/keeper/keeper_manager.c). */
#ifndef ROTA_PROCMGR_SUBSTEP_ORPHANS_H
#define ROTA_PROCMGR_SUBSTEP_ORPHANS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "procmgr/record/stats.h"

/* Does the keeper end the step? The keeper writes that into the file before it signals a process for that reason. */
bool substep_orphans_ends(int fd);

/* Does a program on another node want an agent there? The keeper writes that into the file before it sends this process
 * SIGTERM. */
bool substep_orphans_calls(int fd);

/* Does the owner of the job want to connect from another machine? The keeper writes that into the file before it sends
 * SIGTERM. */
bool substep_orphans_listens(int fd);

/* Find the end of a process in the keeper's file of orphans. Returns false if the file does not have it. */
bool substep_orphans_find(int fd, pid_t pid, int64_t started, int *status, struct stats *stats);

#endif
