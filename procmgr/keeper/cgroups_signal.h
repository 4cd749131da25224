/* cgroups_signal.h - signals the processes of a cgroup. */
#ifndef ROTA_PROCMGR_CGROUPS_SIGNAL_H
#define ROTA_PROCMGR_CGROUPS_SIGNAL_H

#include <stdbool.h>
#include <sys/types.h>

/* Signal each process that the cgroup `key` in the folder `dir` lists now, except the process `but`. Returns the number of
 * processes. `handlers`: signal and count only those that handle the signal. */
int cgroups_signal_listed(const char *dir, const char *key, int signal, pid_t but, bool handlers);

#endif
