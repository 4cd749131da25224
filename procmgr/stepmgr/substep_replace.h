/* substep_replace.h - asks for a node in place of each that fails (--replace-failed). */
#ifndef ROTA_PROCMGR_SUBSTEP_REPLACE_H
#define ROTA_PROCMGR_SUBSTEP_REPLACE_H

#include "procmgr/stepmgr/substep_engine.h"

/* Returns a sub-step that asks for a node in place of this one. NULL: its request was queued before, or the owner of the job wants none. */
struct substep_spec *substep_replace_spec(const struct substep_engine *m, const char *node);

#endif
