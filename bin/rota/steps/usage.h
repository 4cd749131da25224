/* usage.h - the present use of resources by running sub-steps. */
#ifndef ROTA_BIN_USAGE_H
#define ROTA_BIN_USAGE_H

#include <jansson.h>

#include "bin/rota/print/format.h"
#include "lib/rota.h"

/* Returns the list of sub-steps. Running ones have `cpus_used` and `rss_kb`, where the step manager knows them. NULL on failure. */
json_t *usage_list(struct rota_steps *steps);

/* Add `substeps`, the running sub-steps as in usage_list(), to those steps of the answer of `top` that belong to `user`, once for each step. Each step
 * manager is asked over a connection of its own, which is closed again: an open one would keep the allocation. */
void usage_add_substeps(const char *verb, const char *user, json_t *answer);

/* Formats the used CPUs as a share of the CPUs of the sub-step, "98%"; "-": unknown. */
struct word usage_percent(const json_t *substep);
/* Formats the resident memory of a running sub-step. */
struct word usage_memory(const json_t *substep);

#endif
