/* substep_replace.h - asks for a node in place of each that fails (--replace-failed). */
#ifndef ROTA_PROCMGR_SUBSTEP_REPLACE_H
#define ROTA_PROCMGR_SUBSTEP_REPLACE_H

#include "procmgr/stepmgr/substep_engine.h"

/* Returns the spec of a sub-step that asks for a node in place of `node`. NULL: such a sub-step was queued before, or the owner
 * of the job wants none (no --replace-failed). */
struct substep_spec *substep_replace_spec(const struct substep_engine *m, const char *node);

#endif
