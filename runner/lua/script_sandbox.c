/* script_sandbox.c - the libraries of a script in the sandbox (script_sandbox.h).
 *
 * The sandbox lacks io (but see script_files.h), package, require, dofile, loadfile, debug, os except date, time and clock,
 * string.dump, finalizers, byte code.
 * Called by: script_serve.c.
 * Invariants:
 * - A script reaches no table that later calls use: each environment has its own copies of the libraries, metatables are hidden,
 *   and methods of texts, as in ("x"):rep(3), come from the environment's own copy of `string`.
 * - os.date and os.time take locks of the C library, so no jump happens while they run (script_limit.h). */
#include "runner/lua/script_sandbox.h"

#include <lauxlib.h>
#include <lualib.h>
#include <string.h>

#include "runner/lua/script_files.h"
#include "runner/lua/script_limit.h"

/* Addresses are keys of Lua's registry: global functions; libraries by name; original of the table `slurm`; the present
 * environment. */
static char globals_key, libraries_key, slurm_key, environment_key;

static const char *const libraries[] = {"string", "table", "math", "utf8", "coroutine", "os"};

enum { LIBRARIES = sizeof libraries / sizeof *libraries };

/* load(CHUNK [, NAME [, MODE [, ENVIRONMENT]]]): refuses byte code. The default environment is the present one. */
static int sandbox_load(lua_State *L)
{
	size_t length;
	const char *text, *name = luaL_optstring(L, 2, "=(load)");

	lua_settop(L, 4);
	if (lua_isfunction(L, 1)) {
		luaL_Buffer b;

		luaL_buffinit(L, &b);
		do {
			lua_pushvalue(L, 1);
			lua_call(L, 0, 1);
			if (!lua_isnil(L, -1) && lua_type(L, -1) != LUA_TSTRING)
				return luaL_error(L, "load: the function returned no text");
			length = lua_isnil(L, -1) ? 0 : lua_rawlen(L, -1);
			if (length)
				luaL_addvalue(&b);
		} while (length);
		lua_pop(L, 1);
		luaL_pushresult(&b);
		lua_replace(L, 1);
	}
	text = luaL_checklstring(L, 1, &length);
	if (luaL_loadbufferx(L, text, length, name, "t") != LUA_OK) {
		lua_pushnil(L);
		lua_insert(L, -2);
		return 2;
	}
	if (lua_isnil(L, 4))
		lua_rawgetp(L, LUA_REGISTRYINDEX, &environment_key);
	else
		lua_pushvalue(L, 4);
	lua_setupvalue(L, -2, 1);
	return 1;
}

/* setmetatable() without finalizers: Lua runs these at times of its own, without the limits. Upvalue: Lua's own
 * setmetatable(). */
static int sandbox_setmetatable(lua_State *L)
{
	if (lua_istable(L, 2)) {
		lua_pushliteral(L, "__gc");
		lua_rawget(L, 2);
		if (!lua_isnil(L, -1))
			return luaL_error(L, "setmetatable: finalizers (__gc) are not available");
		lua_pop(L, 1);
	}
	return lua_tocfunction(L, lua_upvalueindex(1))(L);
}

/* collectgarbage(): only "count" works, other options do nothing. */
static int sandbox_collectgarbage(lua_State *L)
{
	if (strcmp(luaL_optstring(L, 1, "collect"), "count") == 0)
		lua_pushnumber(L, lua_gc(L, LUA_GCCOUNT) + lua_gc(L, LUA_GCCOUNTB) / 1024.0);
	else
		lua_pushinteger(L, 0);
	return 1;
}

/* Call the function in the first upvalue with the `count` arguments on the stack, between script_limit_hold() and
 * script_limit_release(). */
static int sandbox_call_held(lua_State *L, int count)
{
	int status;

	lua_pushvalue(L, lua_upvalueindex(1));
	lua_insert(L, -count - 1);
	script_limit_hold();
	status = lua_pcall(L, count, 1, 0);
	script_limit_release();
	return status == LUA_OK ? 1 : lua_error(L);
}

static int sandbox_date(lua_State *L)
{
	lua_settop(L, 2);
	return sandbox_call_held(L, 2);
}

/* os.time([TABLE]): works on a copy of the table, so that a metatable of the script has no effect. */
static int sandbox_time(lua_State *L)
{
	static const char *const fields[] = {"year", "month", "day", "hour", "min", "sec", "isdst"};

	if (lua_isnoneornil(L, 1)) {
		lua_settop(L, 0);
		return sandbox_call_held(L, 0);
	}
	luaL_checktype(L, 1, LUA_TTABLE);
	lua_createtable(L, 0, 9);
	for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
		lua_pushstring(L, fields[i]);
		lua_pushvalue(L, -1);
		lua_rawget(L, 1);
		lua_rawset(L, -3);
	}
	return sandbox_call_held(L, 1);
}

/* In the table on top of the stack, replace the function `name` by a closure of `with`, whose upvalue is the replaced
 * function. */
static void sandbox_wrap(lua_State *L, const char *name, lua_CFunction with)
{
	lua_getfield(L, -1, name);
	lua_pushcclosure(L, with, 1);
	lua_setfield(L, -2, name);
}

/* Remove the fields `names`, which a script must not have, from the table on top of the stack. */
static void sandbox_remove(lua_State *L, const char *const *names)
{
	for (; *names; names++) {
		lua_pushnil(L);
		lua_setfield(L, -2, *names);
	}
}

/* Replace the table on top of the stack by a copy. */
static void sandbox_copy(lua_State *L, int members)
{
	lua_createtable(L, 0, members);
	for (lua_pushnil(L); lua_next(L, -3);) {
		lua_pushvalue(L, -2);
		lua_insert(L, -2);
		lua_rawset(L, -4);
	}
	lua_remove(L, -2);
}

static void sandbox_open_libraries(lua_State *L)
{
	static const lua_CFunction open[LIBRARIES] = {luaopen_string, luaopen_table,	 luaopen_math,
						      luaopen_utf8,   luaopen_coroutine, luaopen_os};
	static const char *const not_string[] = {"dump", NULL};
	static const char *const not_os[] = {"execute",	  "exit",    "getenv",	 "remove", "rename",
					     "setlocale", "tmpname", "difftime", NULL};

	luaL_requiref(L, LUA_GNAME, luaopen_base, 1);
	lua_pop(L, 1);
	lua_createtable(L, 0, LIBRARIES);
	for (int i = 0; i < LIBRARIES; i++) {
		luaL_requiref(L, libraries[i], open[i], 1);
		lua_setfield(L, -2, libraries[i]);
	}
	lua_getfield(L, -1, "string");
	sandbox_remove(L, not_string);
	lua_pop(L, 1);
	lua_getfield(L, -1, "table");
	lua_getfield(L, -1, "unpack");
	lua_setglobal(L, "unpack"); /* unpack() is the name of table.unpack() in Lua 5.1, for which many scripts were written */
	lua_pop(L, 1);
	lua_getfield(L, -1, "os");
	sandbox_remove(L, not_os);
	sandbox_wrap(L, "date", sandbox_date);
	sandbox_wrap(L, "time", sandbox_time);
	lua_pop(L, 1);
	lua_rawsetp(L, LUA_REGISTRYINDEX, &libraries_key);
}

/* Hide the metatable of strings from scripts. sandbox_add_libraries() sets its __index for each environment. */
static void sandbox_hide_texts(lua_State *L)
{
	lua_pushliteral(L, "");
	lua_getmetatable(L, -1);
	lua_pushboolean(L, 0);
	lua_setfield(L, -2, "__metatable");
	lua_pop(L, 2);
}

/* Replace the table on top of the stack by a metatable, hidden from scripts, whose __index is that table. */
static void sandbox_push_reader(lua_State *L)
{
	lua_createtable(L, 0, 2);
	lua_insert(L, -2);
	lua_setfield(L, -2, "__index");
	lua_pushboolean(L, 0);
	lua_setfield(L, -2, "__metatable");
}

void script_sandbox_open(lua_State *L, const struct script_output *output, const char *cluster)
{
	static const char *const not_global[] = {"dofile", "loadfile", "require", "package", "_G", "warn",	"io", "debug",
						 "string", "table",    "math",	  "utf8",    "os", "coroutine", NULL};

	sandbox_open_libraries(L);
	script_files_open(L);
	sandbox_hide_texts(L);
	script_library_push(L, output, cluster);
	sandbox_push_reader(L);
	lua_rawsetp(L, LUA_REGISTRYINDEX, &slurm_key);
	lua_pushglobaltable(L);
	sandbox_remove(L, not_global);
	sandbox_wrap(L, "setmetatable", sandbox_setmetatable);
	lua_pushcfunction(L, sandbox_load);
	lua_pushvalue(L, -1);
	lua_setfield(L, -3, "loadstring");
	lua_setfield(L, -2, "load");
	lua_pushcfunction(L, sandbox_collectgarbage);
	lua_setfield(L, -2, "collectgarbage");
	script_library_push_print(L, output);
	lua_setfield(L, -2, "print");
	sandbox_push_reader(L);
	lua_rawsetp(L, LUA_REGISTRYINDEX, &globals_key);
}

/* Add copies of the libraries to the environment on top of the stack, and make its copy of `string` the methods of texts. */
static void sandbox_add_libraries(lua_State *L)
{
	lua_rawgetp(L, LUA_REGISTRYINDEX, &libraries_key);
	for (int i = 0; i < LIBRARIES; i++) {
		lua_getfield(L, -1, libraries[i]);
		sandbox_copy(L, 32);
		if (i == 0) {
			lua_pushliteral(L, "");
			lua_getmetatable(L, -1);
			lua_pushvalue(L, -3);
			lua_setfield(L, -2, "__index");
			lua_pop(L, 2);
		}
		lua_setfield(L, -3, libraries[i]);
	}
	lua_pop(L, 1);
}

void script_sandbox_push_environment(lua_State *L)
{
	lua_createtable(L, 0, 32);
	lua_rawgetp(L, LUA_REGISTRYINDEX, &globals_key);
	lua_setmetatable(L, -2);
	sandbox_add_libraries(L);
	lua_createtable(L, 0, 4);
	lua_rawgetp(L, LUA_REGISTRYINDEX, &slurm_key);
	lua_setmetatable(L, -2);
	lua_pushvalue(L, -1);
	lua_setfield(L, -3, "rota");
	lua_setfield(L, -2, "slurm");
	lua_pushvalue(L, -1);
	lua_setfield(L, -2, LUA_GNAME);
	lua_pushvalue(L, -1);
	lua_rawsetp(L, LUA_REGISTRYINDEX, &environment_key);
}
