/* script_json.h - JSON as Lua values, and back. */
#ifndef ROTA_RUNNER_SCRIPT_JSON_H
#define ROTA_RUNNER_SCRIPT_JSON_H

#include <jansson.h>
#include <lua.h>
#include <stdbool.h>

#include "lib/err.h"

/* Push a JSON value: null becomes nil, an array a table with the indexes 1, 2, ... May raise a Lua error. */
void script_json_push(lua_State *L, const json_t *value);

/* Convert the Lua value at `index`. A table with the indexes 1 to n alone becomes an array; an empty one, an object. Returns NULL
 * with an error if the value is or contains a function or a text that is not UTF-8, or has too many levels or values. Metatables
 * have no effect. Runs no code of the script, and raises no Lua error. */
json_t *script_json_read(lua_State *L, int index, struct err *e);

/* Returns the changes between an object `before` and the table at `index`, as a merge patch (RFC 7396): members that the table
 * does not have any more become null. Returns NULL with an error as script_json_read() does. */
json_t *script_json_changes(lua_State *L, int index, const json_t *before, struct err *e);

#endif
