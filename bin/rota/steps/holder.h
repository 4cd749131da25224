/* holder.h - jobs that hold nodes and run nothing: allocations of `rota run`, and growths. */
#ifndef ROTA_BIN_HOLDER_H
#define ROTA_BIN_HOLDER_H

#include <jansson.h>

#include "lib/err.h"

/* Returns the request that submits a job whose script is `rota VERB --hold`; takes the options, a list of "--name=value". `key`: client
 * key; NULL: a new job. Returns NULL with an error if the name is not UTF-8, or the folder of this process is unknown. */
json_t *holder_request(const char *verb, const char *name, json_t *options, const char *key, struct err *e);

#endif
