/* watch_many.h - watches several jobs, one line each, until all have ended. */
#ifndef ROTA_BIN_WATCH_MANY_H
#define ROTA_BIN_WATCH_MANY_H

#include <jansson.h>
#include <stdbool.h>

/* Draw the table of `rota queue` on the terminal until `q` is pressed. With `lines`, print a line for each change of a job's
 * state instead, as JSON with `json`. Returns the highest exit status of the jobs, or EXIT_OK after `q`. */
int watch_many(const json_t *jobs, bool lines, bool json);

#endif
