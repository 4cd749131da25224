/* script_files.h - the library `io` of a script in the sandbox, which reads and writes texts of the request in place of files. */
#ifndef ROTA_RUNNER_SCRIPT_FILES_H
#define ROTA_RUNNER_SCRIPT_FILES_H

#include <jansson.h>
#include <lua.h>

#include "runner/lua/script_library.h"

/* Load files.lua in a Lua state. Call it before any script runs, which could change the libraries that files.lua uses. */
void script_files_open(lua_State *L);

/* Push two values onto the Lua stack: a table that maps names of files to their contents, and a new library `io` whose only files
 * are those of the table. */
void script_files_push(lua_State *L, const json_t *files, const struct script_output *output);

#endif
