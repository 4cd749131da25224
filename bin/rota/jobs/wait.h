/* wait.h - waits until jobs have ended. */
#ifndef ROTA_BIN_WAIT_H
#define ROTA_BIN_WAIT_H

#include <jansson.h>
#include <stdio.h>

/* The last answer for `jobs`, a list of labels: "done" is false after `timeout` seconds (-1: no limit). NULL: failed, with the error printed. */
json_t *wait_jobs(const json_t *jobs, long timeout);

/* The highest exit status among the jobs of an answer. */
int wait_status(const json_t *answer);

/* Print how each job ended, one line each. */
void wait_print(const json_t *answer, FILE *out);

/* Print the failed steps of jobs that did not complete, with their messages; at most ten lines. */
void wait_reasons(const json_t *answer, FILE *out);

#endif
