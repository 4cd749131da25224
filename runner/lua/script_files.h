/* script_files.h - the library `io` of a script in the sandbox, which reads and writes texts of the request in place of files. */
#ifndef ROTA_RUNNER_SCRIPT_FILES_H
#define ROTA_RUNNER_SCRIPT_FILES_H

#include <jansson.h>
#include <lua.h>

#include "runner/lua/script_library.h"

/* Prepare a Lua state whose libraries no script has changed yet. */
void script_files_open(lua_State *L);

/* Push the contents of files by name, and then a new library `io` that has these files alone. */
void script_files_push(lua_State *L, const json_t *files, const struct script_output *output);

#endif
