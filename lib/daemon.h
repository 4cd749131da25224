/* daemon.h - what every daemon does once at its start: one instance a name, found by others. */
#ifndef ROTA_DAEMON_H
#define ROTA_DAEMON_H

#include <stdbool.h>
#include <sys/types.h>

#include "lib/err.h"

/* Take PATH as the pid file of this process: locked for the life of the process (the lock, not the number, says that it
 * lives), our pid written into it. Fails where another process holds it, and names its pid. */
bool daemon_lock(const char *path, struct err *e);

/* The pid of the process that holds PATH, 0 where none does. */
pid_t daemon_holder(const char *path);

/* As root, become `account` for good (groups, gid, uid); "" and the account we already are: nothing. */
bool daemon_become(const char *account, struct err *e);

#endif
