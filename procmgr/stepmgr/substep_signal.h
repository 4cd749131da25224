/* substep_signal.h - signals the tasks of a sub-step. */
#ifndef ROTA_PROCMGR_SUBSTEP_SIGNAL_H
#define ROTA_PROCMGR_SUBSTEP_SIGNAL_H

#include "procmgr/stepmgr/substep_engine.h"

/* Send a signal to all processes of the tasks of a sub-step, on all nodes. Does nothing if the sub-step does not run. */
void substep_signal_send(struct substep_engine *m, struct substep *s, int signal);

#endif
