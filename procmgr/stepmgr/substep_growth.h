/* substep_growth.h - nodes that come to a running step by growths of it, and nodes that go. */
#ifndef ROTA_PROCMGR_SUBSTEP_GROWTH_H
#define ROTA_PROCMGR_SUBSTEP_GROWTH_H

#include "procmgr/stepmgr/substep_engine.h"

/* Read the keeper's file of growths, and use it from now on. */
void substep_growth_open(struct substep_engine *m, int fd);
/* Read the lines that the keeper has added to the file of growths. */
void substep_growth_read(struct substep_engine *m);

/* A node of the step itself has left: if it was given back, drop it. Returns false if it still belongs to the step by a growth. */
bool substep_growth_left(struct substep_engine *m, const char *name);
/* The growth of the node has ended tasks there, so it ends: nothing more starts on its nodes. The order `shrink` comes later. */
void substep_growth_ends(struct substep_engine *m, int node);

#endif
