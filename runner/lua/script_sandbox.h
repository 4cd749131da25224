/* script_sandbox.h - a Lua state in which a site's script can compute, and nothing else. */
#ifndef ROTA_RUNNER_SCRIPT_SANDBOX_H
#define ROTA_RUNNER_SCRIPT_SANDBOX_H

#include <lua.h>

#include "runner/lua/script_library.h"

/* Build the sandbox in a new Lua state. May raise a Lua error for lack of memory. The caller keeps `output`. The name of the cluster
 * may be NULL. */
void script_sandbox_open(lua_State *L, const struct script_output *output, const char *cluster);

/* Push a new environment, and make it that of load(). Nothing that a script did in an earlier environment is in it. */
void script_sandbox_push_environment(lua_State *L);

#endif
