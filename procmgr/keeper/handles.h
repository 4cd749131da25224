/* handles.h - whether a process handles a signal. */
#ifndef ROTA_PROCMGR_HANDLES_H
#define ROTA_PROCMGR_HANDLES_H

#include <stdbool.h>
#include <sys/types.h>

/* Has the process a function of its own for the signal? False if it ignores the signal or takes the default, and if there is no such
 * process. */
bool handles_signal(pid_t pid, int signal);

#endif
