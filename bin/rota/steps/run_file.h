/* run_file.h - `rota run --file`: runs the steps of a script as sub-steps of this allocation. */
#ifndef ROTA_BIN_RUN_FILE_H
#define ROTA_BIN_RUN_FILE_H

#include "bin/rota/steps/run_options.h"

/* Run the steps of options->file. `arguments` (NULL at the end) are those of its script. Returns the exit status: 1 if any step failed
 * or could not start. */
int run_file(struct rota_steps *steps, const struct run_options *options, char *const *arguments);

#endif
