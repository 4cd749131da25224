/* script_result.c - names, arguments and return values of a site's functions (script_result.h). They are the same as in Slurm,
 * except where Slurm would ignore an error.
 *
 * Called by: script_serve.c, script_call.c. */
#include "runner/lua/script_result.h"

#include <lauxlib.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "lib/text.h"
#include "runner/lua/script_library.h"

#define PREFIX "slurm_bb_"

enum { NAME_SIZE = 64 };

static const struct {
	const char *name;
	bool takes_info;
} stages[] = {
	{"job_process", true},	 {"pools", false},	  {"setup", true},	 {"data_in", true},  {"test_data_in", true},
	{"real_size", true},	 {"paths", true},	  {"pre_run", true},	 {"post_run", true}, {"data_out", true},
	{"test_data_out", true}, {"job_teardown", false}, {"get_status", false},
};

enum { STAGES = sizeof stages / sizeof *stages };

/* Returns the index of the function `name` in the table of functions of burst_buffer.lua, or -1. */
static int result_stage_index(const char *name)
{
	if (strncmp(name, PREFIX, sizeof PREFIX - 1) == 0)
		name += sizeof PREFIX - 1;
	for (int i = 0; i < STAGES; i++)
		if (!strcmp(name, stages[i].name))
			return i;
	return -1;
}

bool script_result_is_stage(const char *name)
{
	return result_stage_index(name) >= 0;
}

bool script_result_takes_info(const char *name)
{
	int i = result_stage_index(name);

	return i >= 0 && stages[i].takes_info;
}

void script_result_push_function(lua_State *L, int index, const char *name)
{
	int i = result_stage_index(name), environment = lua_absindex(L, index);
	char full[NAME_SIZE];

	if (i < 0) {
		lua_getfield(L, environment, name);
		return;
	}
	snprintf(full, sizeof full, PREFIX "%s", stages[i].name);
	lua_getfield(L, environment, full);
	if (lua_isnil(L, -1) && !strcmp(stages[i].name, "job_teardown")) {
		lua_pop(L, 1);
		lua_getfield(L, environment, PREFIX "teardown");
	}
}

/* Returns the text or number at `index` as a new JSON text; NULL: the value is neither. Bytes that are not UTF-8 become '?'. */
static json_t *result_text(lua_State *L, int index)
{
	char number[64], *copy;
	size_t length = 0;
	const char *text;
	json_t *value;

	if (lua_type(L, index) == LUA_TNUMBER) {
		if (lua_isinteger(L, index))
			snprintf(number, sizeof number, "%lld", (long long)lua_tointeger(L, index));
		else
			snprintf(number, sizeof number, "%.14g", lua_tonumber(L, index));
		return json_string(number);
	}
	if (lua_type(L, index) != LUA_TSTRING)
		return NULL;
	text = lua_tolstring(L, index, &length);
	value = json_stringn(text, length);
	if (value)
		return value;
	copy = xstrndup(text, length);
	text_clean(copy);
	value = json_string(copy);
	free(copy);
	return value;
}

/* Returns true if the first result of the function reports success: the number 0, or a text "0". */
static bool result_is_zero(lua_State *L, int index)
{
	int is_number;
	lua_Number n = lua_tonumberx(L, index, &is_number);

	return is_number && n == 0;
}

json_t *script_result_stage(lua_State *L, int count)
{
	int first = lua_gettop(L) - count + 1;
	bool good = count == 0 || result_is_zero(L, first);
	json_t *answer = json_object(), *message = count > 1 ? result_text(L, first + 1) : NULL;

	if (good && count > 1 && !message && !lua_isnil(L, first + 1))
		good = false;
	if (!good && !message && count == 1 && lua_type(L, first) == LUA_TSTRING)
		message = result_text(L, first); /* a first result that is a text says why the function failed */
	json_object_set_new(answer, "rc", json_integer(good ? 0 : -1));
	json_object_set_new(answer, "busy", json_boolean(good && message && !strcasecmp(json_string_value(message), "BUSY")));
	if (message)
		json_object_set_new(answer, "message", message);
	return answer;
}

json_t *script_result_number(lua_State *L, const char *name, int count, struct err *e)
{
	int first = lua_gettop(L) - count + 1, is_integer = 0;
	lua_Integer rc = count > 0 ? lua_tointegerx(L, first, &is_integer) : 0;
	json_t *answer, *message;

	if (count > 0 && !is_integer && !lua_isnil(L, first)) {
		err_set(e, "function %s returned a %s in place of a number", name, lua_typename(L, lua_type(L, first)));
		return NULL;
	}
	/* A result of nil is a success, unless it may come from a misspelt constant. */
	if (count > 0 && lua_isnil(L, first) && *script_library_unknown()) {
		err_set(e, "function %s returned nil after it read slurm.%s, which does not exist; correct the name", name,
			script_library_unknown());
		return NULL;
	}
	answer = json_object();
	json_object_set_new(answer, "rc", json_integer(is_integer ? rc : 0));
	message = count > 1 ? result_text(L, first + 1) : NULL;
	if (message)
		json_object_set_new(answer, "message", message);
	return answer;
}
