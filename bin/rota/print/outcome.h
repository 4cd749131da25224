/* outcome.h - what a job's end is as the exit status of a process, and as words. */
#ifndef ROTA_BIN_OUTCOME_H
#define ROTA_BIN_OUTCOME_H

#include <jansson.h>

/* The job's exit code; 128 + signal where a signal ended it; 1 where it failed otherwise; 0 for one that completed, or was skipped. */
int outcome_status(const json_t *job);

/* "completed", "failed (exit code 3)", "timeout (SIGTERM)", "skipped (not_needed)", "cancelled"; malloc'ed. */
char *outcome_words(const json_t *job);

#endif
