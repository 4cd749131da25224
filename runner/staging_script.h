/* staging_script.h - the file with a job's script that functions of burst_buffer.lua read. */
#ifndef ROTA_RUNNER_STAGING_SCRIPT_H
#define ROTA_RUNNER_STAGING_SCRIPT_H

#include <jansson.h>
#include <libpq-fe.h>
#include <stdbool.h>

#include "lib/err.h"

/* Write the script of the job that a row of api.staging_take names. `symbols`: where its directives have symbols, write these with the
 * values instead. */
bool staging_script_write(const char *path, const PGresult *result, int row, bool symbols, struct err *e);

/* Returns a script of these directives with the values of their symbols, malloc'ed. `job_info` has the values. NULL without an error if
 * there is no symbol; NULL with an error if the script would be too long. */
char *staging_script_replace(const char *directives, const json_t *job_info, struct err *e);

#endif
