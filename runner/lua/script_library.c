/* script_library.c - constants and functions for scripts (script_library.h).
 *
 * Called by: script_sandbox.c (synchronous functions), script_call.c (asynchronous ones).
 * Invariants:
 * - While a function uses memory that Lua does not manage, a stop by a time limit (a jump, script_limit.h) is delayed. */
#include "runner/lua/script_library.h"

#include <lauxlib.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "runner/lua/script_json.h"
#include "runner/lua/script_limit.h"

enum { LEVEL_INFO = 0, MINUTE = 60 };

/* Pass the text on top of the stack to `output`, without control characters. */
static int library_emit(lua_State *L, const struct script_output *output, const char *level)
{
	size_t length;
	const char *text = luaL_tolstring(L, -1, &length);

	script_limit_hold();
	output->message(output->arg, level, text, length);
	script_limit_release();
	return 0;
}

static const struct script_output *library_output(lua_State *L)
{
	return lua_touserdata(L, lua_upvalueindex(1));
}

/* log_info(FORMAT, ...) and the like. Upvalues: output, level, string.format. A single argument that is not a valid format is
 * logged as it is. */
static int library_log(lua_State *L)
{
	const char *level = lua_tostring(L, lua_upvalueindex(2));
	int count = lua_gettop(L), status;

	luaL_checkany(L, 1);
	lua_pushvalue(L, lua_upvalueindex(3));
	lua_insert(L, 1);
	if (count == 1)
		lua_pushvalue(L, 2);
	if (count > 1) {
		lua_call(L, count, 1);
		return library_emit(L, library_output(L), level);
	}
	lua_pushvalue(L, 1);
	lua_insert(L, -2);
	status = lua_pcall(L, 1, 1, 0);
	if (status == LUA_ERRMEM)
		return lua_error(L);
	if (status != LUA_OK)
		lua_settop(L, 2);
	return library_emit(L, library_output(L), level);
}

/* error(TEXT), user_msg(TEXT): log a text as it is, without a format. */
static int library_text(lua_State *L)
{
	luaL_checkany(L, 1);
	lua_settop(L, 1);
	return library_emit(L, library_output(L), lua_tostring(L, lua_upvalueindex(2)));
}

/* log([LEVEL,] TEXT): levels from 0, info, to 5, the most detailed. */
static int library_log_level(lua_State *L)
{
	lua_Integer level = lua_gettop(L) > 1 ? luaL_checkinteger(L, 1) : LEVEL_INFO;

	luaL_checkany(L, 1);
	return library_emit(L, library_output(L), level <= LEVEL_INFO ? "info" : level == 1 ? "verbose" : "debug");
}

static int library_print(lua_State *L)
{
	int count = lua_gettop(L);
	luaL_Buffer b;

	luaL_buffinit(L, &b);
	for (int i = 1; i <= count; i++) {
		if (i > 1)
			luaL_addchar(&b, '\t');
		luaL_tolstring(L, i, NULL);
		luaL_addvalue(&b);
	}
	luaL_pushresult(&b);
	return library_emit(L, library_output(L), "info");
}

/* Read a number at *text that is followed by ":", "-" or the end of the text. Returns false if there is none. */
static bool library_number(const char **text, long *value)
{
	char *end;

	if (**text < '0' || **text > '9')
		return false;
	*value = strtol(*text, &end, 10);
	*text = end;
	return *value >= 0 && *value < 1000000000L;
}

/* Returns a time limit in minutes, rounded up, from "m", "m:s", "h:m:s", "d-h", "d-h:m" or "d-h:m:s"; -1 for any other text. */
static lua_Integer library_minutes(const char *text)
{
	long days = 0, part[3] = {0};
	int count = 0;
	bool has_days = strchr(text, '-') != NULL;

	if (has_days && (!library_number(&text, &days) || *text++ != '-'))
		return -1;
	do {
		if (count == 3 || !library_number(&text, &part[count++]))
			return -1;
	} while (*text == ':' && text++);
	if (*text)
		return -1;
	if (has_days || count == 3)
		return ((days * 24 + part[0]) * 60 + part[1]) + (part[2] + MINUTE - 1) / MINUTE;
	return part[0] + (part[1] + MINUTE - 1) / MINUTE;
}

static int library_time_minutes(lua_State *L)
{
	const char *text = luaL_checkstring(L, 1);
	lua_Integer minutes = library_minutes(text);

	if (!strcasecmp(text, "infinite") || !strcasecmp(text, "unlimited") || !strcmp(text, "-1"))
		script_library_push_unset(L, "INFINITE");
	else if (minutes < 0)
		script_library_push_unset(L, "NO_VAL");
	else
		lua_pushinteger(L, minutes);
	return 1;
}

/* Push the JSON value to which the light userdata at index 1 points. It is called by lua_pcall(), so that its caller can free the
 * JSON value, which is outside of Lua's memory, also after a Lua error. */
static int library_push_json(lua_State *L)
{
	script_json_push(L, lua_touserdata(L, 1));
	return 1;
}

/* json_decode(TEXT): returns the value of a JSON text, or nil and the reason. */
static int library_json_decode(lua_State *L)
{
	size_t length;
	const char *text = luaL_checklstring(L, 1, &length);
	json_error_t error;
	json_t *value;
	int status;

	lua_pushcfunction(L, library_push_json);
	script_limit_hold();
	value = json_loadb(text, length, JSON_DECODE_ANY | JSON_ALLOW_NUL, &error);
	lua_pushlightuserdata(L, value);
	status = value ? lua_pcall(L, 1, 1, 0) : LUA_OK;
	json_decref(value);
	script_limit_release();
	if (status != LUA_OK)
		return lua_error(L);
	if (value)
		return 1;
	lua_pushnil(L);
	lua_pushfstring(L, "not JSON: line %d: %s", error.line, error.text);
	return 2;
}

/* Push a C text: index 1 has a pointer to it, index 2 its length. */
static int library_push_text(lua_State *L)
{
	lua_pushlstring(L, lua_touserdata(L, 1), (size_t)lua_tointeger(L, 2));
	return 1;
}

/* json_encode(VALUE): returns a JSON text, or nil and the reason. */
static int library_json_encode(lua_State *L)
{
	char *text = NULL;
	struct err e = {0};
	json_t *value;
	int status = LUA_OK;

	luaL_checkany(L, 1);
	lua_pushcfunction(L, library_push_text);
	script_limit_hold();
	value = script_json_read(L, 1, &e);
	if (value)
		text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
	if (text) {
		lua_pushlightuserdata(L, text);
		lua_pushinteger(L, (lua_Integer)strlen(text));
		status = lua_pcall(L, 2, 1, 0);
	}
	json_decref(value);
	free(text);
	script_limit_release();
	if (status != LUA_OK)
		return lua_error(L);
	if (text)
		return 1;
	lua_pushnil(L);
	lua_pushstring(L, *e.message ? e.message : "the value cannot be written as JSON");
	return 2;
}

/* job_info_to_string(JOB_INFO): returns 0 and a text with a line NAME=VALUE for each field, sorted. */
static int library_job_info(lua_State *L)
{
	luaL_checktype(L, 1, LUA_TTABLE);
	if (!luaL_getmetafield(L, 1, "__text"))
		return luaL_error(L, "job_info_to_string: the value is no job_info");
	lua_pushinteger(L, 0);
	lua_insert(L, -2);
	return 2;
}

/* Priorities of the qualities of service, from the request that is being served. */
static const json_t *qos_priorities;

void script_library_use_qos(const json_t *priorities)
{
	qos_priorities = priorities;
}

/* slurm.get_qos_priority(NAME): returns the priority, or nil if no quality of service has this name. */
static int library_qos_priority(lua_State *L)
{
	const json_t *priority = json_object_get(qos_priorities, luaL_checkstring(L, 1));

	if (json_is_integer(priority))
		lua_pushinteger(L, json_integer_value(priority));
	else
		lua_pushnil(L);
	return 1;
}

/* Returns true if the name is like those of constants: only capitals, digits and "_". */
static bool library_is_constant(const char *name)
{
	return *name >= 'A' && *name <= 'Z' && name[strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789")] == '\0';
}

/* Name of the constant that a script has read last and that does not exist. Static, since one process serves one script at a
 * time. */
static char unknown_constant[64];

/* __index of the table `slurm`: a missing name is nil, as in Slurm. The tables that Slurm's controller keeps in memory read as a
 * new empty table each time, so that no call sees values that another call wrote. */
static int library_missing(lua_State *L)
{
	const char *name = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : "";

	if (!strcmp(name, "jobs") || !strcmp(name, "reservations"))
		lua_newtable(L);
	else
		lua_pushnil(L);
	if (library_is_constant(name) && strcmp(name, "CLUSTER_NAME") != 0)
		snprintf(unknown_constant, sizeof unknown_constant, "%s", name);
	return 1;
}

void script_library_forget(void)
{
	*unknown_constant = '\0';
}

const char *script_library_unknown(void)
{
	return unknown_constant;
}

/* Make library_missing() the __index of the table on top of the stack. */
static void library_add_missing(lua_State *L)
{
	lua_createtable(L, 0, 2);
	lua_pushcfunction(L, library_missing);
	lua_setfield(L, -2, "__index");
	lua_pushboolean(L, 0);
	lua_setfield(L, -2, "__metatable");
	lua_setmetatable(L, -2);
}

int script_library_describe(lua_State *L)
{
	if (lua_type(L, 1) == LUA_TSTRING || luaL_getmetafield(L, 1, "__tostring"))
		luaL_tolstring(L, 1, NULL);
	else
		lua_pushfstring(L, "the script raised an error that is a %s", luaL_typename(L, 1));
	return 1;
}

void script_library_push_unset(lua_State *L, const char *name)
{
#define SCRIPT_INT(n, value)                                                                                                     \
	if (!strcmp(name, #n)) {                                                                                                 \
		lua_pushinteger(L, value);                                                                                       \
		return;                                                                                                          \
	}
#define SCRIPT_FLOAT(n, value)                                                                                                   \
	if (!strcmp(name, #n)) {                                                                                                 \
		lua_pushnumber(L, value);                                                                                        \
		return;                                                                                                          \
	}
#include "runner/lua/script_constant.def"
#undef SCRIPT_INT
#undef SCRIPT_FLOAT
	lua_pushnil(L);
}

/* Add constants to the table on top of the stack. */
static void library_add_constants(lua_State *L)
{
#define SCRIPT_INT(name, value)                                                                                                  \
	lua_pushinteger(L, value);                                                                                               \
	lua_setfield(L, -2, #name);
#define SCRIPT_FLOAT(name, value)                                                                                                \
	lua_pushnumber(L, value);                                                                                                \
	lua_setfield(L, -2, #name);
#include "runner/lua/script_constant.def"
#undef SCRIPT_INT
#undef SCRIPT_FLOAT
	lua_pushliteral(L, "BUSY");
	lua_setfield(L, -2, "SLURM_BB_BUSY");
}

/* Add the functions that write messages to the table on top of the stack. */
static void library_add_messages(lua_State *L, const struct script_output *output)
{
	static const struct {
		const char *name, *level;
		lua_CFunction function;
	} messages[] = {
		{"log_info", "info", library_log},	 {"log_error", "error", library_log},
		{"log_verbose", "verbose", library_log}, {"log_debug", "debug", library_log},
		{"log_debug2", "debug", library_log},	 {"log_debug3", "debug", library_log},
		{"log_debug4", "debug", library_log},	 {"log_user", "user", library_log},
		{"user_msg", "user", library_text},	 {"error", "error", library_text},
		{"log", "info", library_log_level},
	};

	for (size_t i = 0; i < sizeof messages / sizeof *messages; i++) {
		lua_pushlightuserdata(L, (void *)output);
		lua_pushstring(L, messages[i].level);
		lua_getglobal(L, "string");
		lua_getfield(L, -1, "format");
		lua_remove(L, -2);
		lua_pushcclosure(L, messages[i].function, 3);
		lua_setfield(L, -2, messages[i].name);
	}
}

void script_library_push(lua_State *L, const struct script_output *output, const char *cluster)
{
	static const luaL_Reg functions[] = {
		{"time_str2mins", library_time_minutes},    {"json_decode", library_json_decode},
		{"json_encode", library_json_encode},	    {"from_json", library_json_decode},
		{"to_json", library_json_encode},	    {"job_info_to_string", library_job_info},
		{"get_qos_priority", library_qos_priority}, {"to_yaml", library_json_encode}, /* JSON is YAML */
		{"from_yaml", library_json_decode},	    {NULL, NULL},
	};

	lua_newtable(L);
	library_add_constants(L);
	library_add_messages(L, output);
	luaL_setfuncs(L, functions, 0);
	lua_pushstring(L, cluster); /* nil for NULL */
	lua_setfield(L, -2, "CLUSTER_NAME");
	library_add_missing(L);
}

void script_library_push_print(lua_State *L, const struct script_output *output)
{
	lua_pushlightuserdata(L, (void *)output);
	lua_pushcclosure(L, library_print, 1);
}
