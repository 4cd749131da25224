/* script_call.h - calls one asynchronous function of a site's script, with all that Lua can do. */
#ifndef ROTA_RUNNER_SCRIPT_CALL_H
#define ROTA_RUNNER_SCRIPT_CALL_H

#include <jansson.h>

#include "lib/err.h"

/* Run the script in the file `path` in a new Lua state with all libraries, and call its function, such as "setup", with what the
 * request has ("args", "job_info"). What the script prints and logs goes to standard output. Returns a new answer {"rc", "message",
 * "busy"}: an error of the script, and a file that cannot be loaded, is one with "rc" -1. Returns NULL with an error if the request is
 * wrong. */
json_t *script_call(const char *path, const char *function, const json_t *request, const char *cluster, struct err *e);

#endif
