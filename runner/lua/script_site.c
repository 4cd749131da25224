/* script_site.c - calls functions of one script in a sandbox (script_site.h).
 *
 * The text of the script is compiled once for each version of its file. Each call runs the compiled text in a new environment, so
 * a call sees neither globals nor local variables of an earlier call.
 * Called by: script_serve.c.
 * Invariants:
 * - After a limit has stopped a function (script_limit.h), the Lua state is dropped. The next call makes a new one.
 * - While the file cannot be read or compiled, each call returns an error. */
#include "runner/lua/script_site.h"

#include <errno.h>
#include <fcntl.h>
#include <lauxlib.h>
#include <lua.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/err.h"
#include "lib/text.h"
#include "runner/lua/script_files.h"
#include "runner/lua/script_json.h"
#include "runner/lua/script_limit.h"
#include "runner/lua/script_memory.h"
#include "runner/lua/script_messages.h"
#include "runner/lua/script_record.h"
#include "runner/lua/script_result.h"
#include "runner/lua/script_sandbox.h"

enum { FILE_MOST = 4 << 20, ERROR_MOST = 1000 };

struct site_script {
	char *path;
	const struct script_bounds *bounds;
	struct stat version; /* file status of the version that the Lua state has loaded */
	struct script_memory memory;
	struct script_messages messages;
	struct script_output output;
	lua_State *L; /* NULL: no Lua state is made yet */
	bool was_run; /* the script file was run before, so the messages that it writes while loading are already logged */
};

/* One call under way. Its members that are not in Lua's memory are freed also when a limit stops the function. */
struct site_call {
	struct site_script *script;
	const char *function;
	const json_t *request;
	char *text; /* text of the script file, while it is compiled */
	size_t length;
	json_t *answer;
	struct err e;
	char message[ERROR_MOST]; /* message of a Lua error */
};

static char chunk_key; /* its address is the key of the compiled text in Lua's registry */

struct site_script *site_script_new(const char *path, const struct script_bounds *bounds)
{
	struct site_script *s = xcalloc(1, sizeof *s);

	s->path = xstrdup(path);
	s->bounds = bounds;
	s->memory.most = bounds->memory;
	s->output = (struct script_output){script_messages_add, &s->messages};
	return s;
}

static void site_drop_state(struct site_script *s)
{
	script_memory_drop(&s->memory);
	s->L = NULL;
	s->was_run = false;
}

void site_script_free(struct site_script *s)
{
	site_drop_state(s);
	free(s->path);
	free(s);
}

/* Returns true if both file states are of the same file with the same content. */
static bool site_is_same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec &&
	       a->st_ctim.tv_sec == b->st_ctim.tv_sec && a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

/* Read the script file, and set *version to its file status. Returns the malloc'ed text, or NULL with an error. */
static char *site_read(const char *path, struct stat *version, size_t *length, struct err *e)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	char *text = NULL;
	ssize_t size = 0;

	if (fd < 0 || fstat(fd, version) < 0) {
		err_sys(e, "could not read \"%s\"", path);
	} else if (!S_ISREG(version->st_mode) || version->st_size > FILE_MOST) {
		err_set(e, "\"%s\" is no file of at most %d MiB", path, FILE_MOST >> 20);
	} else {
		text = xmalloc(FILE_MOST + 1);
		for (*length = 0; *length < FILE_MOST; *length += (size_t)size) {
			size = read(fd, text + *length, FILE_MOST - *length);
			if (size <= 0)
				break;
		}
		if (size < 0) {
			err_sys(e, "could not read \"%s\"", path);
			free(text);
			text = NULL;
		}
	}
	if (fd >= 0)
		close(fd);
	return text;
}

/* Build the sandbox and compile the script's text. */
static int site_load(lua_State *L)
{
	struct site_call *call = lua_touserdata(L, 1);
	const char *name = strrchr(call->script->path, '/'), *text = call->text;
	size_t length = call->length;

	script_sandbox_open(L, &call->script->output, call->script->bounds->cluster);
	if (length && *text == '#') { /* skip a first line "#!...", but keep its newline, so that line numbers stay right */
		size_t line = strcspn(text, "\n");

		text += line < length ? line : length;
		length -= line < length ? line : length;
	}
	lua_pushfstring(L, "@%s", name ? name + 1 : call->script->path);
	if (luaL_loadbufferx(L, text, length, lua_tostring(L, -1), "t") != LUA_OK)
		return lua_error(L);
	lua_rawsetp(L, LUA_REGISTRYINDEX, &chunk_key);
	return 0;
}

/* Run the compiled text in a new environment. Leaves two values on the stack: the contents of the request's files (or nil), and
 * above them the environment. */
static void site_run_text(lua_State *L, struct site_script *s, const json_t *files)
{
	if (files)
		script_files_push(L, files, &s->output);
	else
		lua_settop(L, lua_gettop(L) + 2);
	script_sandbox_push_environment(L);
	lua_insert(L, -2);
	lua_setfield(L, -2, "io");
	lua_rawgetp(L, LUA_REGISTRYINDEX, &chunk_key);
	lua_pushvalue(L, -2);
	lua_setupvalue(L, -2, 1);
	s->messages.muted = s->was_run;
	lua_call(L, 0, 0);
	s->messages.muted = false;
	s->was_run = true;
}

/* Push the arguments of slurm_job_submit(desc, parts, uid) or slurm_job_modify(desc, rec, parts, uid). Returns their number. */
static int site_push_job_arguments(lua_State *L, const json_t *request)
{
	const json_t *rec = json_object_get(request, "rec"), *uid = json_object_get(request, "uid");

	script_record_push_job(L, json_object_get(request, "desc"));
	if (rec)
		script_record_push_job(L, rec);
	script_record_push_partitions(L, json_object_get(request, "parts"));
	lua_pushinteger(L, json_integer_value(uid));
	return rec ? 4 : 3;
}

/* Push the arguments of a function of burst_buffer.lua. Returns their number. */
static int site_push_stage_arguments(lua_State *L, const json_t *request, const char *function)
{
	const json_t *arguments = json_object_get(request, "args"), *info = json_object_get(request, "job_info"), *argument;
	int count = (int)json_array_size(arguments);
	size_t i;

	luaL_checkstack(L, count + 1, "too many arguments");
	json_array_foreach (arguments, i, argument) {
		lua_pushlstring(L, json_string_value(argument), json_string_length(argument));
	}
	if (!json_is_object(info) || !script_result_takes_info(function))
		return count;
	script_record_push_info(L, info);
	return count + 1;
}

/* Push the function `name` and its arguments, and call it. Returns the number of results, which are on top of the stack.
 * `has_job`: the job is left on the stack below them. */
static int site_call_pushed(lua_State *L, const json_t *request, const char *name, bool has_job)
{
	int count, top;

	if (has_job) { /* keep the job below the arguments, to read it after the call */
		count = site_push_job_arguments(L, request);
		lua_pushvalue(L, -count);
		lua_insert(L, -count - 2);
	} else {
		count = site_push_stage_arguments(L, request, name);
	}
	top = lua_gettop(L) - count - 1;
	script_library_forget();
	lua_call(L, count, LUA_MULTRET);
	return lua_gettop(L) - top;
}

/* Add changes to the answer, as its member `name`. If they are NULL, free the answer and return NULL. */
static json_t *site_add_changes(json_t *answer, const char *name, json_t *changes)
{
	if (changes) {
		json_object_set_new(answer, name, changes);
		return answer;
	}
	json_decref(answer);
	return NULL;
}

/* Returns the answer, made from the `count` results on top of the stack, the job below them and the files at `files`. It is not
 * in Lua's memory, so the caller must have called script_limit_hold(). */
static json_t *site_answer(lua_State *L, struct site_call *call, const char *name, int count, const json_t *job, int files)
{
	const json_t *texts = json_object_get(call->request, "files");
	json_t *answer =
		script_result_is_stage(name) ? script_result_stage(L, count) : script_result_number(L, name, count, &call->e);

	if (answer && job)
		answer = site_add_changes(answer, "changes", script_record_changes(L, lua_gettop(L) - count, job, &call->e));
	if (answer && texts)
		answer = site_add_changes(answer, "files", script_json_changes(L, files, texts, &call->e));
	return answer;
}

/* Call the function of the request. */
static int site_call_function(lua_State *L)
{
	struct site_call *call = lua_touserdata(L, 1);
	const char *name = call->function;
	const json_t *job = json_object_get(call->request, "desc");
	int count = 0, files = lua_gettop(L) + 1;

	site_run_text(L, call->script, json_object_get(call->request, "files"));
	script_result_push_function(L, -1, name);
	if (!lua_isnil(L, -1)) {
		count = site_call_pushed(L, call->request, name, job != NULL);
	} else if (!strcmp(name, "slurm_job_submit")) {
		return luaL_error(L, "script %s has no function %s", call->script->path, name);
	} else {
		lua_pop(L, 1);
		job = NULL;
	}
	luaL_checkstack(L, 16, NULL);
	script_limit_hold();
	call->answer = site_answer(L, call, name, count, job, files);
	script_limit_release();
	return 0;
}

/* Run `function`, a function of this file, in protected mode, with `call` as its argument. Returns false with call->message after
 * a Lua error. */
static bool site_protected(struct site_call *call, lua_CFunction function)
{
	lua_State *L = call->script->L;
	int status;

	lua_settop(L, 0);
	lua_pushcfunction(L, script_library_describe);
	lua_pushcfunction(L, function);
	lua_pushlightuserdata(L, call);
	status = lua_pcall(L, 1, 0, 1);
	if (status != LUA_OK) {
		snprintf(call->message, sizeof call->message, "%s",
			 lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "an error");
		if (status == LUA_ERRMEM)
			snprintf(call->message, sizeof call->message, "more than %zu MiB of memory needed",
				 call->script->bounds->memory >> 20);
	}
	lua_settop(L, 0);
	return status == LUA_OK;
}

/* The part of a call that script_limit_run() runs with limits. */
static void site_run(void *arg)
{
	struct site_call *call = arg;

	if (!call->text || site_protected(call, site_load))
		site_protected(call, site_call_function);
}

static json_t *site_error(const char *where, const char *what)
{
	char *text = xasprintf("%s%s", where, what);
	json_t *answer;

	text_clean(text);
	answer = json_pack("{s:s}", "error", text);
	free(text);
	return answer;
}

/* Make a new Lua state if there is none for the present version of the file. */
static bool site_prepare(struct site_call *call)
{
	struct site_script *s = call->script;
	struct stat now;

	if (s->L && stat(s->path, &now) == 0 && site_is_same(&now, &s->version))
		return true;
	site_drop_state(s);
	call->text = site_read(s->path, &s->version, &call->length, &call->e);
	if (!call->text)
		return false;
	s->L = lua_newstate(script_memory_allocate, &s->memory);
	if (!s->L)
		return err_set(&call->e, "%zu MiB of memory are not enough for a script", s->bounds->memory >> 20);
	script_limit_watch(s->L);
	return true;
}

/* Returns the answer of a call that has ended or was stopped. */
static json_t *site_finish(struct site_call *call, enum script_stop stop)
{
	const struct script_bounds *bounds = call->script->bounds;
	char what[128];

	if (stop == SCRIPT_STOP_NONE && call->answer)
		return call->answer;
	json_decref(call->answer);
	if (stop == SCRIPT_STOP_INSTRUCTIONS)
		snprintf(what, sizeof what, "the script took more than %lld instructions", bounds->instructions);
	else if (stop == SCRIPT_STOP_TIME)
		snprintf(what, sizeof what, "the script took longer than %g seconds", bounds->seconds);
	else
		return site_error("", *call->message ? call->message : call->e.message);
	return site_error(script_limit_where(), what);
}

json_t *site_script_call(struct site_script *s, const char *function, const json_t *request)
{
	struct site_call call = {.script = s, .function = function, .request = request};
	enum script_stop stop = SCRIPT_STOP_NONE;
	json_t *answer;

	script_messages_begin(&s->messages);
	script_library_use_qos(json_object_get(request, "qos"));
	if (site_prepare(&call))
		stop = script_limit_run(site_run, &call, s->bounds->instructions, s->bounds->seconds);
	answer = site_finish(&call, stop);
	script_library_use_qos(NULL);
	script_messages_end(&s->messages, answer);
	if (stop != SCRIPT_STOP_NONE || s->memory.exceeded || (call.text && json_object_get(answer, "error")))
		site_drop_state(s);
	free(call.text);
	return answer;
}
