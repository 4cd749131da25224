/* script_call.h - calls one asynchronous function of a site's script, with all libraries of Lua and no sandbox. */
#ifndef ROTA_RUNNER_SCRIPT_CALL_H
#define ROTA_RUNNER_SCRIPT_CALL_H

#include <jansson.h>

#include "lib/err.h"

/* Run the script in the file `path` in a new Lua state with all libraries, and call its function, such as "setup", with the
 * members "args" and "job_info" of the request. Output and log messages of the script go to standard output. Returns a new answer
 * {"rc", "message", "busy"}; after an error of the script, or if its file cannot be loaded, "rc" is -1. Returns NULL with an
 * error if the request is malformed. */
json_t *script_call(const char *path, const char *function, const json_t *request, const char *cluster, struct err *e);

#endif
