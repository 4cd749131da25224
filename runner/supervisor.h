/* supervisor.h - a second process that kills what the runner started as soon as the runner is gone. */
#ifndef ROTA_RUNNER_SUPERVISOR_H
#define ROTA_RUNNER_SUPERVISOR_H

#include <stdbool.h>
#include <sys/types.h>

#include "lib/err.h"

/* Fork the supervisor. Call it once, before any other descriptor is opened. */
bool supervisor_start(struct err *e);

/* The supervisor's process, so that the runner recognizes its end. */
pid_t supervisor_pid(void);

/* Report to the supervisor that the runner started a process group (`running`), or that nothing of the group is left. Ends the runner
 * where the report cannot be written. */
void supervisor_report(pid_t group, bool running);

#endif
