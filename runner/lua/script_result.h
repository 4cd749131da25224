/* script_result.h - names, arguments and return values of a site's functions. */
#ifndef ROTA_RUNNER_SCRIPT_RESULT_H
#define ROTA_RUNNER_SCRIPT_RESULT_H

#include <jansson.h>
#include <lua.h>
#include <stdbool.h>

#include "lib/err.h"

/* Returns true if `name` is "setup" and so on, or with the prefix "slurm_bb_": a function of burst_buffer.lua. */
bool script_result_is_stage(const char *name);

/* Push the function `name` of the environment at `index`: nil if the script has none. A function of burst_buffer.lua may be named
 * without its prefix, and by its older name. Runs what the environment's metatable has. */
void script_result_push_function(lua_State *L, int index, const char *name);

/* Returns true if the function takes facts about the job as its last argument. */
bool script_result_takes_info(const char *name);

/* Make the answer of a function of burst_buffer.lua from the `count` values on top of the stack: "rc" is 0 or -1, "message" a text
 * if there is one, "busy" true if the function asks to be called again. Raises no Lua error. */
json_t *script_result_stage(lua_State *L, int count);

/* Make the answer of slurm_job_submit() or slurm_job_modify(): "rc" is the number that it returned, 0 if it returned nothing. NULL with
 * an error if it returned something else. Raises no Lua error. */
json_t *script_result_number(lua_State *L, const char *name, int count, struct err *e);

#endif
