/* wait.h - waits until jobs have ended. */
#ifndef ROTA_BIN_WAIT_H
#define ROTA_BIN_WAIT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

/* Wait until `jobs`, a list of labels, have ended, for at most `timeout` seconds (-1: no limit). Returns the last answer of
 * jobmgrd, in which "done" is false after a timeout. Returns NULL after printing an error. */
json_t *wait_jobs(const json_t *jobs, long timeout);

/* Returns the highest exit status among the jobs of an answer. */
int wait_status(const json_t *answer);

/* Print how each job ended, one line each. */
void wait_print(const json_t *answer, FILE *out);

/* Print the failed steps of jobs that did not complete, with their messages, and the failed elements of arrays; at most ten lines. With
 * `elements`, print only these. */
void wait_reasons(const json_t *answer, bool elements, FILE *out);

#endif
