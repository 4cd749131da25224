/* agent_substep.h - reports the sub-steps of jobs to the database. */
#ifndef ROTA_PROCMGR_AGENT_SUBSTEP_H
#define ROTA_PROCMGR_AGENT_SUBSTEP_H

#include <stdbool.h>

#include "procmgr/agent/agent_context.h"

struct agent_substeps;

struct agent_substeps *agent_substep_new(const struct agent_context *c);
void agent_substep_free(struct agent_substeps *s);

/* Report what was appended to the files in substeps/, and remove files of attempts that are gone. */
void agent_substep_poll(struct agent_substeps *s);

/* Is every line in substeps/ reported to the database, and does inotify watch that folder? Then procmgrd need not poll it. */
bool agent_substep_is_idle(const struct agent_substeps *s);

#endif
