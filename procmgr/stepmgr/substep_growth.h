/* substep_growth.h - nodes that come to a running step by growths of it, and nodes that go. */
#ifndef ROTA_PROCMGR_SUBSTEP_GROWTH_H
#define ROTA_PROCMGR_SUBSTEP_GROWTH_H

#include "procmgr/stepmgr/substep_engine.h"

/* Use the keeper's file of growths, which is open as `fd`, and read it. */
void substep_growth_open(struct substep_engine *m, int fd);
/* Read the lines that the keeper has added to the file of growths. */
void substep_growth_read(struct substep_engine *m);

/* Call when a node of the step itself has left: drops it if it was given back. Returns false if the node still belongs to the
 * step by a growth. */
bool substep_growth_left(struct substep_engine *m, const char *name);
/* Call when tasks on a node ended since its growth ends: nothing more starts on the nodes of that growth. The line `shrink` of
 * the file of growths comes later. */
void substep_growth_ends(struct substep_engine *m, int node);

#endif
