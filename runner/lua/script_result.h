/* script_result.h - names, arguments and return values of a site's functions. */
#ifndef ROTA_RUNNER_SCRIPT_RESULT_H
#define ROTA_RUNNER_SCRIPT_RESULT_H

#include <jansson.h>
#include <lua.h>
#include <stdbool.h>

#include "lib/err.h"

/* Returns true if `name` is "setup" and so on, or with the prefix "slurm_bb_": a function of burst_buffer.lua. */
bool script_result_is_stage(const char *name);

/* Push the function `name` from the environment (table of globals) at `index`: nil if the script has none. `name` of a function
 * of burst_buffer.lua may lack the prefix, and the script may use its older name. May run metamethods of the environment. */
void script_result_push_function(lua_State *L, int index, const char *name);

/* Returns true if the function `name` of burst_buffer.lua gets facts about the job (job_info) as its last argument. */
bool script_result_takes_info(const char *name);

/* Returns the answer for a function of burst_buffer.lua from its `count` results on top of the stack: "rc" is 0 or -1, "message"
 * a text if there is one, "busy" true if the function asks to be called again. Raises no Lua error. */
json_t *script_result_stage(lua_State *L, int count);

/* Returns the answer for slurm_job_submit() or slurm_job_modify(): "rc" is the number that the function returned, 0 if it
 * returned nothing. NULL with an error if it returned a value of another type. Raises no Lua error. */
json_t *script_result_number(lua_State *L, const char *name, int count, struct err *e);

#endif
