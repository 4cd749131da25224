/* run_each.h - `rota run --each`: runs one sub-step for each line of a file. */
#ifndef ROTA_BIN_RUN_EACH_H
#define ROTA_BIN_RUN_EACH_H

#include "bin/rota/steps/run_options.h"

/* Run the command (NULL at the end; empty: `sh -c LINE`) for each line of the file. Returns the exit status: 1 if any sub-step
 * failed. */
int run_each(struct rota_steps *steps, const struct run_options *options, char *const *command);

#endif
