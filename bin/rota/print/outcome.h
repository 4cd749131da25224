/* outcome.h - converts the outcome of a job to an exit status and to words. */
#ifndef ROTA_BIN_OUTCOME_H
#define ROTA_BIN_OUTCOME_H

#include <jansson.h>

/* Returns the exit code of the job; 128 + signal number if a signal ended the job; 1 if the job failed otherwise; 0 if the job
 * completed or was skipped. */
int outcome_status(const json_t *job);

/* Returns the outcome of a job in words: "completed", "failed (exit code 3)", "timeout (SIGTERM)", "skipped (not_needed)",
 * "cancelled"; malloc'ed. */
char *outcome_words(const json_t *job);

#endif
