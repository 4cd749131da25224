/* script_files.c - makes the library `io` of the sandbox (script_files.h). The library is written in Lua: files.lua, which is
 * embedded in rota-lua.
 *
 * Called by: script_site.c, for calls with files. */
#include "runner/lua/script_files.h"

#include <lauxlib.h>

#include "runner/script_files_code.h"
#include "runner/lua/script_json.h"

static char maker_key; /* its address is the key of the function that makes the library, in the registry */

void script_files_open(lua_State *L)
{
	static const struct {
		const char *library, *name;
	} functions[] = {
		{"string", "sub"},	{"string", "find"},	{"string", "match"}, {NULL, "type"},
		{NULL, "tonumber"},	{NULL, "tostring"},	{"table", "concat"}, {"table", "unpack"},
		{NULL, "setmetatable"}, {NULL, "getmetatable"}, {NULL, "rawget"},    {NULL, "error"},
	};
	const int count = sizeof functions / sizeof *functions;

	if (luaL_loadbufferx(L, (const char *)script_files_code, sizeof script_files_code, "=io", "t") != LUA_OK)
		lua_error(L);
	luaL_checkstack(L, count, NULL);
	for (int i = 0; i < count; i++) {
		if (functions[i].library) {
			lua_getglobal(L, functions[i].library);
			lua_getfield(L, -1, functions[i].name);
			lua_remove(L, -2);
		} else {
			lua_getglobal(L, functions[i].name);
		}
	}
	lua_call(L, count, 1);
	lua_rawsetp(L, LUA_REGISTRYINDEX, &maker_key);
}

void script_files_push(lua_State *L, const json_t *files, const struct script_output *output)
{
	script_json_push(L, files);
	lua_rawgetp(L, LUA_REGISTRYINDEX, &maker_key);
	lua_pushvalue(L, -2);
	script_library_push_print(L, output);
	lua_call(L, 2, 1);
}
