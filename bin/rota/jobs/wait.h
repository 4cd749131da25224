/* wait.h - wait until jobs have ended; for `rota wait` and `rota submit --wait`. */
#ifndef ROTA_BIN_WAIT_H
#define ROTA_BIN_WAIT_H

#include <jansson.h>
#include <stdio.h>

/* The gate's last answer for `jobs` (a list of labels): done, or not within `timeout` seconds (-1: no end). NULL after a failure that was printed. */
json_t *wait_jobs(const json_t *jobs, long timeout);

/* The highest exit status among the jobs of an answer. */
int wait_status(const json_t *answer);

/* How each ended, one line each. */
void wait_print(const json_t *answer, FILE *out);

/* Of those that did not complete, the steps that are why, with what is known of each: ten lines at the most. */
void wait_reasons(const json_t *answer, FILE *out);

#endif
