/* script_call.c - one call of an asynchronous function of burst_buffer.lua (script_call.h).
 *
 * Called by: bin/rota-lua.c. */
#include "runner/lua/script_call.h"

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/text.h"
#include "runner/lua/script_library.h"
#include "runner/lua/script_record.h"
#include "runner/lua/script_result.h"

struct one_call {
	const char *path, *function, *cluster;
	const json_t *arguments, *info;
	json_t *answer;
};

/* Write a message of the script to standard output, in order with the script's own output. */
static void call_message(void *arg, const char *level, const char *text, size_t length)
{
	(void)arg;
	if (!strcmp(level, "error"))
		fputs("error: ", stdout);
	fwrite(text, 1, length, stdout);
	fputc('\n', stdout);
	fflush(stdout);
}

static const struct script_output output = {.message = call_message};

/* Load the script and call the function. */
static int call_run(lua_State *L)
{
	struct one_call *call = lua_touserdata(L, 1);
	int count = (int)json_array_size(call->arguments), top;
	const json_t *argument;
	size_t i;

	luaL_openlibs(L);
	script_library_push(L, &output, call->cluster);
	lua_pushvalue(L, -1);
	lua_setglobal(L, "rota");
	lua_setglobal(L, "slurm");
	lua_getglobal(L, "table");
	lua_getfield(L, -1, "unpack");
	lua_setglobal(L, "unpack"); /* unpack() is the name of table.unpack() in Lua 5.1, for which many scripts were written */
	if (luaL_loadfilex(L, call->path, "t") != LUA_OK)
		return lua_error(L);
	lua_call(L, 0, 0);
	lua_pushglobaltable(L);
	top = lua_gettop(L);
	script_result_push_function(L, -1, call->function);
	if (!lua_isnil(L, -1)) {
		luaL_checkstack(L, count + 2, "too many arguments");
		json_array_foreach (call->arguments, i, argument) {
			lua_pushlstring(L, json_string_value(argument), json_string_length(argument));
		}
		if (call->info && script_result_takes_info(call->function)) {
			script_record_push_info(L, call->info);
			count++;
		}
		lua_call(L, count, LUA_MULTRET);
	} else {
		lua_pop(L, 1);
	}
	call->answer = script_result_stage(L, lua_gettop(L) - top);
	return 0;
}

static json_t *call_failed(const char *message)
{
	char *text = xstrdup(message);
	json_t *answer;

	text_clean(text);
	answer = json_pack("{s:i, s:s, s:b}", "rc", -1, "message", text, "busy", 0);
	free(text);
	return answer;
}

/* Returns the reason why a request is malformed, or NULL if it is valid. */
static const char *call_objection(const struct one_call *call)
{
	const json_t *argument;
	size_t i;

	if (!script_result_is_stage(call->function))
		return "is no function of burst_buffer.lua";
	if (call->arguments && !json_is_array(call->arguments))
		return "\"args\" of the request is no array";
	json_array_foreach (call->arguments, i, argument) {
		if (!json_is_string(argument))
			return "\"args\" of the request is no array of texts";
	}
	return call->info && !json_is_object(call->info) ? "\"job_info\" of the request is no object" : NULL;
}

json_t *script_call(const char *path, const char *function, const json_t *request, const char *cluster, struct err *e)
{
	struct one_call call = {.path = path,
				.function = function,
				.cluster = cluster,
				.arguments = json_object_get(request, "args"),
				.info = json_object_get(request, "job_info")};
	const char *objection = json_is_object(request) ? call_objection(&call) : "the request is no JSON object";
	lua_State *L;

	if (objection) {
		err_set(e, "function \"%.60s\": %s", function, objection);
		return NULL;
	}
	L = luaL_newstate();
	if (!L)
		die("out of memory");
	lua_pushcfunction(L, script_library_describe);
	lua_pushcfunction(L, call_run);
	lua_pushlightuserdata(L, &call);
	if (lua_pcall(L, 1, 0, 1) != LUA_OK)
		call.answer = call_failed(lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "an error");
	lua_close(L);
	fflush(stdout);
	return call.answer;
}
