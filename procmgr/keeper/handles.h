/* handles.h - whether a process handles a signal. */
#ifndef ROTA_PROCMGR_HANDLES_H
#define ROTA_PROCMGR_HANDLES_H

#include <stdbool.h>
#include <sys/types.h>

/* Has the process a function of its own for the signal? False if it ignores the signal or takes the default, if there is no such process, and
 * for programs that serve a step: rota-terminal passes signals on, and ssh-agent takes some as orders. */
bool handles_signal(pid_t pid, int signal);

#endif
