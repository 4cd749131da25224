/* done_log.h - the log of `rota run --each --resume`: which lines have completed. */
#ifndef ROTA_BIN_DONE_LOG_H
#define ROTA_BIN_DONE_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/err.h"

struct done_log;

/* Open the log of completed sub-steps and read it. Makes the file if there is none. */
struct done_log *done_log_open(const char *path, struct err *e);

/* Returns true if an earlier call of `rota run` completed the line with this hash. */
bool done_log_has(const struct done_log *log, uint64_t hash);

/* Append a line that has completed. */
bool done_log_add(struct done_log *log, uint64_t hash, long number, struct err *e);

void done_log_close(struct done_log *log);

/* Returns the malloc'ed path of the log of a step, which has the same name after a requeue: WORKDIR/rota-JOB.STEP[INDEX].done.
 * `label`: label of the step, from the environment of the job. Returns NULL outside a job. */
char *done_log_default(const char *workdir, const char *label);

#endif
