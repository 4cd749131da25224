/* substep_changes.h - the keeper's file of changes of nodes: a line "NAME STATE REASON" for each. */
#ifndef ROTA_PROCMGR_SUBSTEP_CHANGES_H
#define ROTA_PROCMGR_SUBSTEP_CHANGES_H

#include "procmgr/stepmgr/substep_engine.h"

/* Apply the lines that the keeper has added to the file of changes. A line that an earlier step manager has applied (up to
 * m->changes_read) only sets the state of its node. */
void substep_changes_read(struct substep_engine *m);

#endif
