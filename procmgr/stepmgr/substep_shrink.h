/* substep_shrink.h - gives nodes of a running step back: those of its growths, and its own but the first. */
#ifndef ROTA_PROCMGR_SUBSTEP_SHRINK_H
#define ROTA_PROCMGR_SUBSTEP_SHRINK_H

#include "procmgr/stepmgr/substep_engine.h"

/* Give nodes back: those of `nodelist` (lib/hosts.h) or, if it is "", `count` nodes: those on which nothing runs first, and among
 * equals nodes of growths, the latest first. Without `force`, a node with running sub-steps or tasks of the step is not given
 * back. Returns the names of the nodes, with all nodes of each growth that goes. Returns NULL if that is not possible; then
 * nothing has changed. */
json_t *substep_shrink_take(struct substep_engine *m, const char *nodelist, int count, bool force, struct err *e);
/* Apply a record `shrink` of an earlier step manager. */
void substep_shrink_replay(struct substep_engine *m, const json_t *record);

#endif
