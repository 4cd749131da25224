/* origin.h - where a submission comes from: the shell that types it, as its job will find it again. */
#ifndef ROTA_BIN_ORIGIN_H
#define ROTA_BIN_ORIGIN_H

#include <jansson.h>

/* Add "environment", "workdir", "umask" and "rlimits" of this process to a request. */
void origin_add(json_t *request);

#endif
