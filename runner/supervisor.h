/* supervisor.h - a second process that kills the runner's hooks as soon as the runner is gone. */
#ifndef ROTA_RUNNER_SUPERVISOR_H
#define ROTA_RUNNER_SUPERVISOR_H

#include <stdbool.h>
#include <sys/types.h>

#include "lib/err.h"

/* Fork the supervisor. Call it once, before any other descriptor is opened. */
bool supervisor_start(struct err *e);

/* Returns the supervisor's pid, by which the runner recognizes the supervisor's end. */
pid_t supervisor_pid(void);

/* Report to the supervisor that the runner has started a process group (`running`), or that no process of the group is left. Ends
 * the runner if the report cannot be written. */
void supervisor_report(pid_t group, bool running);

#endif
