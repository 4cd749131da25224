/* script_record.c - arguments of a site's functions (script_record.h).
 *
 * Called by: script_serve.c, script_call.c. */
#include "runner/lua/script_record.h"

#include <lauxlib.h>
#include <string.h>

#include "runner/lua/script_json.h"
#include "runner/lua/script_library.h"

static char unset_key; /* its address is the key of the metatable of jobs in the registry */

/* Push the metatable of jobs, by which unset fields read as NO_VAL and the like. It is made once for each Lua state. */
static void record_push_unset(lua_State *L)
{
	if (lua_rawgetp(L, LUA_REGISTRYINDEX, &unset_key) == LUA_TTABLE)
		return;
	lua_pop(L, 1);
	lua_newtable(L);
	lua_newtable(L);
#define SCRIPT_UNSET(name, value)                                                                                                \
	script_library_push_unset(L, #value);                                                                                    \
	lua_setfield(L, -2, #name);
#include "runner/lua/script_unset.def"
#undef SCRIPT_UNSET
	lua_setfield(L, -2, "__index");
	lua_pushboolean(L, 0);
	lua_setfield(L, -2, "__metatable");
	lua_pushvalue(L, -1);
	lua_rawsetp(L, LUA_REGISTRYINDEX, &unset_key);
}

void script_record_push_job(lua_State *L, const json_t *job)
{
	if (!json_is_object(job)) {
		lua_newtable(L);
	} else {
		script_json_push(L, job);
	}
	record_push_unset(L);
	lua_setmetatable(L, -2);
}

/* Returns the number that an unset field reads as, or -1 if it reads as nil. */
static double record_unset(const char *field)
{
	enum { NO_VAL8 = 0xfe, NO_VAL16 = 0xfffe };
	const double NO_VAL = 0xfffffffe, NO_VAL64 = 18446744073709551614.0;

#define SCRIPT_UNSET(name, value)                                                                                                \
	if (!strcmp(field, #name))                                                                                               \
		return value;
#include "runner/lua/script_unset.def"
#undef SCRIPT_UNSET
	return -1;
}

/* In `changes`, a field that the script has set to its NO_VAL means "not set": make it null, or drop it if it was not set
 * before. */
static void record_unset_changes(json_t *changes, const json_t *before)
{
	const char *field;
	json_t *value;
	void *next;

	json_object_foreach_safe(changes, next, field, value)
	{
		if (!json_is_number(value) || json_number_value(value) != record_unset(field))
			continue;
		if (json_object_get(before, field) && !json_is_null(json_object_get(before, field)))
			json_object_set_new(changes, field, json_null());
		else
			json_object_del(changes, field);
	}
}

json_t *script_record_changes(lua_State *L, int index, const json_t *before, struct err *e)
{
	json_t *changes = script_json_changes(L, index, before, e);

	if (changes)
		record_unset_changes(changes, before);
	return changes;
}

void script_record_push_partitions(lua_State *L, const json_t *partitions)
{
	json_t *partition;
	size_t i;

	lua_createtable(L, 0, (int)json_array_size(partitions));
	json_array_foreach (partitions, i, partition) {
		const char *name = json_string_value(json_object_get(partition, "name"));

		if (!name)
			continue;
		script_json_push(L, partition);
		lua_setfield(L, -2, name);
	}
}

static int record_refuse(lua_State *L)
{
	return luaL_error(L, "job_info cannot be changed: field \"%s\"", luaL_tolstring(L, 2, NULL));
}

/* Push a text with a line NAME=VALUE for each field of the table on top of the stack, in the order of `info`. */
static void record_push_text(lua_State *L, const json_t *info)
{
	const char *key;
	json_t *value;
	luaL_Buffer b;
	int fields = lua_gettop(L);

	luaL_buffinit(L, &b);
	json_object_foreach ((json_t *)info, key, value) {
		luaL_addstring(&b, key);
		luaL_addchar(&b, '=');
		lua_getfield(L, fields, key);
		if (json_is_object(value) || json_is_array(value))
			lua_pushliteral(L, "...");
		else if (json_is_null(value))
			lua_pushliteral(L, "");
		else
			luaL_tolstring(L, -1, NULL);
		lua_remove(L, -2);
		luaL_addvalue(&b);
		luaL_addchar(&b, '\n');
	}
	luaL_pushresult(&b);
}

void script_record_push_info(lua_State *L, const json_t *info)
{
	lua_newtable(L);
	lua_createtable(L, 0, 4);
	script_json_push(L, info);
	record_push_text(L, info);
	lua_setfield(L, -3, "__text");
	lua_setfield(L, -2, "__index");
	lua_pushcfunction(L, record_refuse);
	lua_setfield(L, -2, "__newindex");
	lua_pushboolean(L, 0);
	lua_setfield(L, -2, "__metatable");
	lua_setmetatable(L, -2);
}
