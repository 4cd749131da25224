/* substep_place.h - chooses the nodes of a sub-step, and the ranks of its tasks on each. */
#ifndef ROTA_PROCMGR_SUBSTEP_PLACE_H
#define ROTA_PROCMGR_SUBSTEP_PLACE_H

#include "procmgr/stepmgr/substep_engine.h"

/* Can a sub-step with this spec ever run? Nodes whose resources are not known count as large enough. If not, the error says
 * why. */
bool substep_place_can(struct substep_engine *m, const struct substep_spec *spec, struct err *e);

/* Returns true if the resources of all nodes are known now, and the nodes can never run the waiting sub-step. The error then says
 * why. */
bool substep_place_is_never(struct substep_engine *m, struct substep *s, struct err *e);

/* Take the resources that a sub-step needs, on one node or several. Returns false if the sub-step has to wait: *reason (a
 * constant) says for what. */
bool substep_place_take(struct substep_engine *m, struct substep *s, const char **reason);

/* Give back the resources that a sub-step has on all nodes. */
void substep_place_give(struct substep_engine *m, struct substep *s);

#endif
