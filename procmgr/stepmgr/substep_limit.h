/* substep_limit.h - when the tasks of a running sub-step are to end. */
#ifndef ROTA_PROCMGR_SUBSTEP_LIMIT_H
#define ROTA_PROCMGR_SUBSTEP_LIMIT_H

#include "procmgr/stepmgr/substep.h"

/* Set the time limit of a sub-step whose tasks have begun. */
void substep_limit_set(struct substep *s);
/* Call when a task has ended while others run: with --wait, the others are ended after the time that the request gives. */
void substep_limit_note_end(struct substep *s);
void substep_limit_clear(struct substep *s); /* call it when the run of the sub-step ends */

/* Send SIGTERM to the tasks, and SIGKILL after the grace time. `cause` becomes the cause of the sub-step. */
void substep_limit_end_tasks(struct substep *s, const char *cause);
/* End the tasks because the terminal is idle, unless they are being ended already. */
void substep_limit_end_idle(struct substep *s);

#endif
