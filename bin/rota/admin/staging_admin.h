/* staging_admin.h - `rota admin hook` and `rota admin pool`: the staging of jobs' data by the site's burst_buffer.lua. */
#ifndef ROTA_BIN_STAGING_ADMIN_H
#define ROTA_BIN_STAGING_ADMIN_H

#include <jansson.h>
#include <stdbool.h>

/* List the staging that is not over ("list"), show a job's ("show"), or try again what has failed of it ("retry"). `job`: number of
 * the job, or NULL. Returns the exit status. */
int staging_admin_run(const char *action, const char *job, bool json);

/* Print what the function slurm_bb_get_status of burst_buffer.lua answers to the words of the command line. Returns the exit
 * status. */
int staging_admin_status(char *const *words, int count, bool json);

/* List the pools of burst_buffer.lua. Returns the exit status. */
int staging_admin_pools(bool json);

/* Print a line for each call of a function; `title` stands at the head of each. */
void staging_admin_print_calls(const json_t *calls, const char *title);

/* Print a line for each element of an array whose data is staged for itself, and with `calls` its calls; `title` as above. */
void staging_admin_print_elements(const json_t *elements, bool calls, const char *title);

#endif
