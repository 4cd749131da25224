/* allocation.h - the allocation of `rota run` outside a job. */
#ifndef ROTA_BIN_ALLOCATION_H
#define ROTA_BIN_ALLOCATION_H

#include <jansson.h>
#include <stdbool.h>

#include "bin/rota/steps/run_options.h"

/* Submit a job whose script keeps its allocation, wait until it runs, and set ROTA_STEP_SOCKET and ROTA_STEP_LABEL of this
 * process to its step. `command` names the job. Returns false with the exit status in *status if the allocation cannot be had;
 * the reason is then printed, and the job is cancelled. */
bool allocation_get(const struct run_options *options, const char *command, int *status);

/* Find the running step that a word names: 812, 812.solve, 812.solve.3, or .3 inside a job. Sets the variables of this process as
 * allocation_get() does, and *substep to the number of the sub-step, 0 if none is named. Returns false with the exit status in
 * *status after printing the reason. Without a verb, *status is EXIT_OK if the step does not run or cannot be reached, and that
 * is not printed. */
bool allocation_find(const char *verb, const char *word, int *substep, int *status);

/* Returns the first running step of a job in the answer of `show` whose label is `label` or, if that is NULL, any; NULL: none. */
const json_t *allocation_running_step(const json_t *job, const char *label);

#endif
