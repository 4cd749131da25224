/* watch_many.h - several jobs as they go on, a line a job, until all have ended. */
#ifndef ROTA_BIN_WATCH_MANY_H
#define ROTA_BIN_WATCH_MANY_H

#include <jansson.h>
#include <stdbool.h>

/* On a terminal the table of `rota queue`, redrawn, until `q` is pressed; with `lines` a line for each job whose state has changed; with
 * `json` such a job as JSON. The exit status: the highest of the jobs', EXIT_OK after `q`. */
int watch_many(const json_t *jobs, bool lines, bool json);

#endif
