/* substep_place.h - chooses the nodes of a sub-step, and the ranks of its tasks on each. */
#ifndef ROTA_PROCMGR_SUBSTEP_PLACE_H
#define ROTA_PROCMGR_SUBSTEP_PLACE_H

#include "procmgr/stepmgr/substep_engine.h"

/* Can a sub-step with this spec ever run, as far as is known? If not, the reason says what is too much. */
bool substep_place_can(struct substep_engine *m, const struct substep_spec *spec, struct err *e);

/* Can the nodes, all of which are known now, never run the waiting sub-step? The reason then says what is too much. */
bool substep_place_is_never(struct substep_engine *m, struct substep *s, struct err *e);

/* Set aside what a sub-step needs, on one node or several. Returns false if it has to wait: `reason` (a constant) says for what. */
bool substep_place_take(struct substep_engine *m, struct substep *s, const char **reason);

/* Give back the resources that a sub-step has on all nodes. */
void substep_place_give(struct substep_engine *m, struct substep *s);

#endif
