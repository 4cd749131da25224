/* substep_limit.h - when the tasks of a running sub-step are to end. */
#ifndef ROTA_PROCMGR_SUBSTEP_LIMIT_H
#define ROTA_PROCMGR_SUBSTEP_LIMIT_H

#include "procmgr/stepmgr/substep.h"

/* Set the time limit of a sub-step whose tasks have begun. */
void substep_limit_set(struct substep *s);
/* A task has ended while others run: these have as long as the request says. */
void substep_limit_note_end(struct substep *s);
void substep_limit_clear(struct substep *s); /* call it when the run of the sub-step ends */

/* Send SIGTERM to the tasks, for `cause`, and SIGKILL after the grace time. */
void substep_limit_end_tasks(struct substep *s, const char *cause);
/* End the tasks because the terminal is idle, unless they are being ended. */
void substep_limit_end_idle(struct substep *s);

#endif
