/* origin.h - the environment of a submission: variables, working directory, umask and limits of the submitting process. */
#ifndef ROTA_BIN_ORIGIN_H
#define ROTA_BIN_ORIGIN_H

#include <jansson.h>
#include <stdbool.h>

#include "lib/err.h"

/* The folder below which --workdir is meant, one of these options ("--name=value"), as a string. Where it is unknown, "/" if it
 * does not matter, else NULL with an error: it matters if --workdir is relative, or, where `always`, not among them. */
json_t *origin_folder(const json_t *options, bool always, struct err *e);

/* Add "environment", "workdir", "umask" and "rlimits" of this process to a request whose "options" are there; false with an error
 * where the folder is unknown. */
bool origin_add(json_t *request, struct err *e);

#endif
