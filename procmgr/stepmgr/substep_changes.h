/* substep_changes.h - the keeper's file of changes of nodes: a line "NAME STATE REASON" for each. */
#ifndef ROTA_PROCMGR_SUBSTEP_CHANGES_H
#define ROTA_PROCMGR_SUBSTEP_CHANGES_H

#include "procmgr/stepmgr/substep_engine.h"

/* Apply the lines that are new. Those that an earlier step manager has applied (m->changes_read) set the state of their nodes
 * only. */
void substep_changes_read(struct substep_engine *m);

#endif
