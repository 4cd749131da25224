/* run_one.h - runs one sub-step and follows it until its end. */
#ifndef ROTA_BIN_RUN_ONE_H
#define ROTA_BIN_RUN_ONE_H

#include "bin/rota/steps/run_options.h"

/* Run the sub-step of the options, print its output, and pass standard input on. With `detach`, print the name of the sub-step
 * and return. Returns the exit status. */
int run_one(struct rota_steps *steps, const struct run_options *options);

/* Follow a sub-step that runs. Returns the exit status of the sub-step, or 0 if the user leaves it running. */
int run_attach(struct rota_steps *steps, int substep, const struct rota_attach *how);

#endif
