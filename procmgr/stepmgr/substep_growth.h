/* substep_growth.h - nodes that come to a running step by growths of it, and that go or are given back. */
#ifndef ROTA_PROCMGR_SUBSTEP_GROWTH_H
#define ROTA_PROCMGR_SUBSTEP_GROWTH_H

#include "procmgr/stepmgr/substep_engine.h"

/* Use the keeper's file of growths from now on, and read it. */
void substep_growth_open(struct substep_engine *m, int fd);
/* Read what the keeper has added to the file. */
void substep_growth_read(struct substep_engine *m);

/* Give nodes back: those of `nodelist` (lib/hosts.h) or, if it is "", `count` of them, those that came last first. Without `force`, a node
 * with running sub-steps is not given back. Returns the names of the nodes, of growths with several nodes all of them; NULL if it cannot
 * be done, then nothing has changed. */
json_t *substep_growth_shrink(struct substep_engine *m, const char *nodelist, int count, bool force, struct err *e);
/* The growth of the node has ended tasks there, so it ends: nothing more starts on its nodes. The order `shrink` comes later. */
void substep_growth_ends(struct substep_engine *m, int node);
/* Take the record `shrink` of an earlier step manager. */
void substep_growth_replay(struct substep_engine *m, const json_t *record);

#endif
