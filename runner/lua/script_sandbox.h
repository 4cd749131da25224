/* script_sandbox.h - a Lua state in which a site's script can only compute: it has no files, processes or network. */
#ifndef ROTA_RUNNER_SCRIPT_SANDBOX_H
#define ROTA_RUNNER_SCRIPT_SANDBOX_H

#include <lua.h>

#include "runner/lua/script_library.h"

/* Build the sandbox in a new Lua state. May raise a Lua error for lack of memory. The caller keeps `output`. `cluster`: name of
 * the cluster, or NULL. */
void script_sandbox_open(lua_State *L, const struct script_output *output, const char *cluster);

/* Push a new environment (table of globals), which load() then uses too. It has no change that a script made in an earlier
 * environment. */
void script_sandbox_push_environment(lua_State *L);

#endif
