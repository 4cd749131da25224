/* script_json.c - JSON as Lua values, and back (script_json.h).
 *
 * Called by: script_record.c, script_library.c, script_call.c, script_serve.c.
 * Invariants:
 * - A Lua value is read by raw access only, so no code of a script runs meanwhile, and at most VALUES_MOST values are read. */
#include "runner/lua/script_json.h"

#include <lauxlib.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { LEVELS_MOST = 32, VALUES_MOST = 200000, KEY_SIZE = 32 };

/* State of the conversion of one Lua value to JSON. */
struct json_reading {
	lua_State *L;
	struct err *e;
	int levels, values;
};

void script_json_push(lua_State *L, const json_t *value)
{
	const char *key;
	json_t *member;
	size_t i;

	luaL_checkstack(L, 4, "JSON has too many levels");
	switch (json_typeof(value)) {
	case JSON_OBJECT:
		lua_createtable(L, 0, (int)json_object_size(value));
		json_object_foreach ((json_t *)value, key, member) {
			script_json_push(L, member);
			lua_setfield(L, -2, key);
		}
		break;
	case JSON_ARRAY:
		lua_createtable(L, (int)json_array_size(value), 0);
		json_array_foreach (value, i, member) {
			script_json_push(L, member);
			lua_rawseti(L, -2, (lua_Integer)i + 1);
		}
		break;
	case JSON_STRING:
		lua_pushlstring(L, json_string_value(value), json_string_length(value));
		break;
	case JSON_INTEGER:
		lua_pushinteger(L, json_integer_value(value));
		break;
	case JSON_REAL:
		lua_pushnumber(L, json_real_value(value));
		break;
	case JSON_NULL:
		lua_pushnil(L);
		break;
	default:
		lua_pushboolean(L, json_is_true(value));
	}
}

static json_t *reading_fail(struct json_reading *r, const char *why)
{
	err_set(r->e, "%s", why);
	return NULL;
}

static json_t *reading_take(struct json_reading *r, int index);

/* Returns true if the table at `index` is an array: its keys are exactly 1 to n, and n > 0. */
static bool reading_is_array(struct json_reading *r, int index)
{
	lua_Unsigned count = lua_rawlen(r->L, index), found = 0;

	if (count == 0)
		return false;
	for (lua_pushnil(r->L); lua_next(r->L, index); found++) {
		lua_pop(r->L, 1);
		if (!lua_isinteger(r->L, -1) || lua_tointeger(r->L, -1) < 1 || (lua_Unsigned)lua_tointeger(r->L, -1) > count) {
			lua_pop(r->L, 1);
			return false;
		}
	}
	return found == count;
}

static json_t *reading_take_array(struct json_reading *r, int index)
{
	lua_Unsigned count = lua_rawlen(r->L, index);
	json_t *array = json_array();

	for (lua_Unsigned i = 1; i <= count; i++) {
		json_t *member;

		lua_rawgeti(r->L, index, (lua_Integer)i);
		member = reading_take(r, lua_gettop(r->L));
		lua_pop(r->L, 1);
		if (!member || json_array_append_new(array, member)) {
			json_decref(array);
			return NULL;
		}
	}
	return array;
}

/* Returns the key at `index` as a text (written into `number` if the key is a number), or NULL if the key is neither.
 * lua_tolstring() would change the key in place. */
static const char *reading_key(const struct json_reading *r, int index, char number[KEY_SIZE], size_t *length)
{
	if (lua_type(r->L, index) == LUA_TSTRING)
		return lua_tolstring(r->L, index, length);
	if (lua_type(r->L, index) != LUA_TNUMBER)
		return NULL;
	if (lua_isinteger(r->L, index))
		*length = (size_t)snprintf(number, KEY_SIZE, "%lld", (long long)lua_tointeger(r->L, index));
	else
		*length = (size_t)snprintf(number, KEY_SIZE, "%.14g", lua_tonumber(r->L, index));
	return number;
}

/* Put the name of the field in front of the error message. */
static void reading_name(struct json_reading *r, const char *key)
{
	struct err inner = *r->e;

	err_set(r->e, "field \"%.100s\": %.300s", key, inner.message);
}

static json_t *reading_take_object(struct json_reading *r, int index)
{
	json_t *object = json_object();

	for (lua_pushnil(r->L); lua_next(r->L, index); lua_pop(r->L, 1)) {
		int top = lua_gettop(r->L);
		char number[KEY_SIZE];
		size_t length = 0;
		const char *key = reading_key(r, top - 1, number, &length);
		json_t *member = NULL;

		if (!key || memchr(key, '\0', length))
			reading_fail(r, "a key is neither a text nor a number, or has a byte 0");
		else
			member = reading_take(r, top);

		if (!member || json_object_setn_new(object, key, length, member)) {
			if (member)
				reading_fail(r, "a key is not UTF-8");
			else if (r->levels == 0 && key && !memchr(key, '\0', length))
				reading_name(r, key);
			lua_pop(r->L, 2);
			json_decref(object);
			return NULL;
		}
	}
	return object;
}

static json_t *reading_take_table(struct json_reading *r, int index)
{
	json_t *value;

	if (r->levels >= LEVELS_MOST || !lua_checkstack(r->L, 8))
		return reading_fail(r, "a table has too many levels, or contains itself");
	r->levels++;
	value = reading_is_array(r, index) ? reading_take_array(r, index) : reading_take_object(r, index);
	r->levels--;
	return value;
}

static json_t *reading_take_number(struct json_reading *r, int index)
{
	lua_Number n = lua_tonumber(r->L, index);
	int is_integer;
	lua_Integer i = lua_tointegerx(r->L, index, &is_integer);

	if (is_integer)
		return json_integer(i);
	return isfinite(n) ? json_real(n) : reading_fail(r, "a number is not finite");
}

/* Returns the Lua value at the absolute index as JSON, or NULL with the error in `r`. */
static json_t *reading_take(struct json_reading *r, int index)
{
	size_t length;
	const char *text;
	json_t *value;

	if (++r->values > VALUES_MOST)
		return reading_fail(r, "a table has too many values");
	switch (lua_type(r->L, index)) {
	case LUA_TNIL:
		return json_null();
	case LUA_TBOOLEAN:
		return json_boolean(lua_toboolean(r->L, index));
	case LUA_TNUMBER:
		return reading_take_number(r, index);
	case LUA_TSTRING:
		text = lua_tolstring(r->L, index, &length);
		value = json_stringn(text, length);
		return value ? value : reading_fail(r, "a text is not UTF-8");
	case LUA_TTABLE:
		return reading_take_table(r, index);
	default:
		err_set(r->e, "a Lua value of type %s is no value of JSON", lua_typename(r->L, lua_type(r->L, index)));
		return NULL;
	}
}

json_t *script_json_read(lua_State *L, int index, struct err *e)
{
	struct json_reading r = {.L = L, .e = e};

	if (!lua_checkstack(L, 8))
		return reading_fail(&r, "the stack of Lua is full");
	return reading_take(&r, lua_absindex(L, index));
}

static bool changes_none(const json_t *before, const json_t *after);

/* Returns true if a script has not changed a JSON array. Lua has no null: elements behind the last one that is not null are lost,
 * and an array with nulls becomes a table by index. */
static bool changes_none_array(const json_t *before, const json_t *after)
{
	size_t kept = 0, last = 0, i;
	const json_t *element, *other;
	char key[KEY_SIZE];
	bool is_array;

	json_array_foreach (before, i, element) {
		kept += !json_is_null(element);
		last = json_is_null(element) ? last : i + 1;
	}
	is_array = kept > 0 && kept == last;
	if (is_array ? json_array_size(after) != kept : !json_is_object(after) || json_object_size(after) != kept)
		return false;
	json_array_foreach (before, i, element) {
		snprintf(key, sizeof key, "%zu", i + 1);
		other = is_array ? json_array_get(after, i) : json_object_get(after, key);
		if (!json_is_null(element) && (!other || !changes_none(element, other)))
			return false;
	}
	return true;
}

static bool changes_none_object(const json_t *before, const json_t *after)
{
	size_t kept = 0;
	const char *key;
	json_t *member;

	json_object_foreach ((json_t *)before, key, member) {
		const json_t *other = json_object_get(after, key);

		kept += !json_is_null(member);
		if (!json_is_null(member) && (!other || !changes_none(member, other)))
			return false;
	}
	return json_is_object(after) && json_object_size(after) == kept;
}

/* Returns true if `after` is what `before` becomes when it is converted to Lua and back. Lua has no null, and does not tell 1.0
 * from 1, nor an empty array from an empty object. */
static bool changes_none(const json_t *before, const json_t *after)
{
	if (json_is_array(before))
		return changes_none_array(before, after);
	if (json_is_object(before))
		return changes_none_object(before, after);
	if (json_is_number(before) && json_is_number(after) && (json_is_real(before) || json_is_real(after)))
		return json_number_value(before) == json_number_value(after);
	return json_equal(before, after);
}

/* Returns a merge patch from `before` to `after`, for a member that may have changed; objects are compared member by member.
 * Takes over `after`. */
static json_t *changes_between(const json_t *before, json_t *after)
{
	json_t *patch = json_object(), *member;
	const char *key;

	json_object_foreach ((json_t *)before, key, member) {
		if (!json_is_null(member) && !json_object_get(after, key))
			json_object_set_new(patch, key, json_null());
	}
	json_object_foreach (after, key, member) {
		const json_t *old = json_object_get(before, key);

		if (json_is_object(old) && json_is_object(member)) {
			json_t *inner = changes_between(old, json_incref(member));

			if (json_object_size(inner))
				json_object_set_new(patch, key, inner);
			else
				json_decref(inner);
		} else if (!old || !changes_none(old, member)) {
			json_object_set(patch, key, member);
		}
	}
	json_decref(after);
	return patch;
}

json_t *script_json_changes(lua_State *L, int index, const json_t *before, struct err *e)
{
	struct json_reading r = {.L = L, .e = e};
	json_t *after;

	if (!lua_checkstack(L, 8))
		return reading_fail(&r, "the stack of Lua is full");
	after = reading_take_object(&r, lua_absindex(L, index));
	return after ? changes_between(before, after) : NULL;
}
