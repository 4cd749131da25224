/* origin.h - the environment of a submission: variables, working directory, umask and limits of the submitting process. */
#ifndef ROTA_BIN_ORIGIN_H
#define ROTA_BIN_ORIGIN_H

#include <jansson.h>
#include <stdbool.h>

#include "lib/err.h"

/* Returns the working directory of this process as a JSON string; a relative --workdir in `options` ("--name=value") starts
 * there. If the directory is unknown, returns "/" if it is not needed: --workdir is absolute, or neither given nor required
 * (`always`). Otherwise returns NULL with an error. */
json_t *origin_folder(const json_t *options, bool always, struct err *e);

/* Add "submit_line", "environment", "workdir", "umask" and "rlimits" of this process to a request that already has "options".
 * Returns false with an error if the working directory is needed and unknown. */
bool origin_add(json_t *request, struct err *e);

#endif
