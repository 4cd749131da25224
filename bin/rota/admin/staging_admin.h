/* staging_admin.h - `rota admin hook` and `rota admin pool`: the staging of jobs' data by the site's burst_buffer.lua. */
#ifndef ROTA_BIN_STAGING_ADMIN_H
#define ROTA_BIN_STAGING_ADMIN_H

#include <jansson.h>
#include <stdbool.h>

/* List jobs whose staging has not ended ("list"), show the staging of a job ("show"), or call its failed functions again
 * ("retry"). `job`: number of the job, or NULL. Returns the exit status. */
int staging_admin_run(const char *action, const char *job, bool json);

/* Call slurm_bb_get_status of burst_buffer.lua with the words of the command line, and print its answer. Returns the exit
 * status. */
int staging_admin_status(char *const *words, int count, bool json);

/* List the pools of burst_buffer.lua. Returns the exit status. */
int staging_admin_pools(bool json);

/* Print a line for each call of a function; `title` begins each line. */
void staging_admin_print_calls(const json_t *calls, const char *title);

/* Print a line for each element of an array whose data is staged separately and, with `calls`, lines for its calls of functions.
 * `title` begins each line. */
void staging_admin_print_elements(const json_t *elements, bool calls, const char *title);

#endif
