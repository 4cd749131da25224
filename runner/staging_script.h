/* staging_script.h - the file with a job's script that functions of burst_buffer.lua read. */
#ifndef ROTA_RUNNER_STAGING_SCRIPT_H
#define ROTA_RUNNER_STAGING_SCRIPT_H

#include <jansson.h>
#include <libpq-fe.h>
#include <stdbool.h>

#include "lib/err.h"

/* Write the script of the job that a row of api.staging_take names. `symbols`: replace the symbols in its directives by their
 * values. */
bool staging_script_write(const char *path, const PGresult *result, int row, bool symbols, struct err *e);

/* Returns the directives, with their symbols replaced by values from `job_info`, malloc'ed. NULL without an error if they have no
 * symbol; NULL with an error if the text would be too long. */
char *staging_script_replace(const char *directives, const json_t *job_info, struct err *e);

#endif
