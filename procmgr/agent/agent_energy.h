/* agent_energy.h - measures the energy that the node uses while attempts are on it. */
#ifndef ROTA_PROCMGR_AGENT_ENERGY_H
#define ROTA_PROCMGR_AGENT_ENERGY_H

#include "lib/fields.h"
#include "procmgr/agent/agent_context.h"

struct agent_energy;

struct agent_energy *agent_energy_new(const struct agent_context *c);
void agent_energy_free(struct agent_energy *e);

/* An attempt is about to start: read the counters, so that its energy is counted from now on. */
void agent_energy_begin(struct agent_energy *e);

/* Add to a record of kind `end` the energy that the node used during the attempt (`node_uj`, in microjoules), if that is known. */
void agent_energy_add(struct agent_energy *e, struct fields *record);

#endif
