/* show_job.h - a job in `rota show`. */
#ifndef ROTA_BIN_SHOW_JOB_H
#define ROTA_BIN_SHOW_JOB_H

#include <jansson.h>
#include <stdbool.h>

/* Print a job without its steps. With `hooks`, also print the functions of burst_buffer.lua that were called for it; unless `wide`, cut
 * its command line to the width of the screen. */
void show_job_print(const json_t *job, bool wide, bool hooks);

#endif
