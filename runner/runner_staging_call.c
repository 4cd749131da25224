/* runner_staging_call.c - one call of a function of burst_buffer.lua: its files and arguments, the process, the outcome.
 *
 * Called by: runner_staging.c, runner_pool.c.
 * Invariants:
 * - A call that was stopped has failed, whatever its function returned.
 * - Only the account of runnerd can read the files of a call, which are removed when the call has ended. */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/log.h"
#include "lib/text.h"
#include "runner/runner_parts.h"
#include "runner/script_process.h"
#include "runner/staging_script.h"

enum { RESULT_MOST = 65536, VARIABLES_MOST = 1 << 20, MESSAGE_MOST = 2000 };

/* Functions of burst_buffer.lua: their arguments, in order, and whether the symbols in their job script are replaced by values.
 * s: job script; f: path file; h: hurry; i: job id; u: user id; g: group id; p: pool; b: size; j: job_info. */
static const struct function {
	const char *function, *arguments;
	bool symbols;
} functions[] = {
	{"setup", "iugpbsj", true},	  {"real_size", "iugj", false}, {"data_in", "isugj", true},
	{"test_data_in", "isugj", true},  {"paths", "isfugj", false},	{"pre_run", "isugj", false},
	{"post_run", "isugj", true},	  {"data_out", "isugj", true},	{"test_data_out", "isugj", true},
	{"job_teardown", "ishug", false},
};

/* Returns the entry of a function in this table. The function pools, and functions that only a newer database knows, get no
 * arguments; rota-lua refuses the latter. */
static const struct function *function_find(const char *name)
{
	static const struct function unknown = {"", "", false};

	for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
		if (strcmp(functions[i].function, name) == 0)
			return &functions[i];
	return &unknown;
}

/* Returns how many seconds a function may run. */
static int call_timeout(const struct conf *conf, const char *function)
{
	if (strstr(function, "data_in") || strcmp(function, "real_size") == 0)
		return conf->hooks_stage_in_timeout;
	return strstr(function, "data_out") ? conf->hooks_stage_out_timeout : conf->hooks_other_timeout;
}

/* Returns the path of the folder for the files of calls, which is beside the hook socket, malloc'ed. Makes the folder if it is
 * missing. NULL with an error on failure. */
static char *call_folder(const struct runner *r, struct err *e)
{
	const char *socket = r->conf->hooks_socket, *slash = strrchr(socket, '/');
	char *folder = xasprintf("%.*s/staging", slash ? (int)(slash - socket) : 0, socket);
	struct stat st;

	if (mkdir(folder, 0700) == 0 ||
	    (errno == EEXIST && lstat(folder, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == getuid() && !(st.st_mode & 077)))
		return folder;
	err_set(e, "\"%s\" is no folder of this account's alone: %s", folder, strerror(errno));
	free(folder);
	return NULL;
}

static bool call_make_files(struct staging_call *call, const struct runner *r, const PGresult *result, int row, struct err *e)
{
	char *folder = call_folder(r, e);
	bool paths = strcmp(call->function, "paths") == 0;
	int fd = -1;

	if (!folder)
		return false;
	call->script_path = xasprintf("%s/%lld.script", folder, (long long)call->job);
	if (paths)
		call->variables_path = xasprintf("%s/%lld.paths", folder, (long long)call->job);
	free(folder);
	if (paths) {
		fd = open(call->variables_path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (fd < 0)
			return err_sys(e, "could not write \"%s\"", call->variables_path);
		close(fd);
	}
	return staging_script_write(call->script_path, result, row, function_find(call->function)->symbols, e);
}

/* Returns one argument for a function of burst_buffer.lua. */
static json_t *call_argument(const struct staging_call *call, char kind, const PGresult *result, int row)
{
	switch (kind) {
	case 'i':
		return json_string(db_text(result, row, "job_id"));
	case 'u':
		return json_string(db_text(result, row, "uid"));
	case 'g':
		return json_string(db_text(result, row, "gid"));
	case 'h':
		return json_string(*db_text(result, row, "hurry") == 't' ? "true" : "false");
	case 's':
		return json_string(call->script_path);
	case 'f':
		return json_string(call->variables_path);
	case 'p':
		return json_string(db_text(result, row, "pool"));
	default:
		return json_string(db_text(result, row, "size"));
	}
}

/* Returns the request for rota-lua. */
static json_t *call_request(const struct staging_call *call, const PGresult *result, int row)
{
	json_t *request = json_object(), *list = json_array();

	for (const char *arguments = function_find(call->function)->arguments; *arguments; arguments++) {
		if (*arguments == 'j')
			json_object_set_new(request, "job_info", json_loads(db_text(result, row, "job_info"), 0, NULL));
		else
			json_array_append_new(list, call_argument(call, *arguments, result, row));
	}
	json_object_set_new(request, "args", list);
	return request;
}

/* Callback of hook_free() for the process of a call: frees the struct staging_call (hook->about). */
static void call_free(void *about)
{
	struct staging_call *call = about;

	if (call->script_path)
		unlink(call->script_path);
	if (call->variables_path)
		unlink(call->variables_path);
	if (call->result >= 0)
		close(call->result);
	free(call->function);
	free(call->script_path);
	free(call->variables_path);
	free(call->message);
	free(call->answer);
	free(call);
}

static struct staging_call *call_new(const struct runner *r, int64_t id, const char *function, const char *label)
{
	struct staging_call *call = xcalloc(1, sizeof *call);

	call->function = xstrdup(function);
	call->result = -1;
	call->rc = -2;
	call->hook = hook_new(id, label, r->conf->hooks_burst_buffer, "function of");
	call->hook->about = call;
	call->hook->about_free = call_free;
	return call;
}

struct staging_call *staging_call_new(const struct runner *r, const PGresult *result, int row)
{
	int64_t job = strtoll(db_text(result, row, "job_id"), NULL, 10);
	const char *function = db_text(result, row, "function");
	char *label = xasprintf("job %lld: %s", (long long)job, function);
	struct staging_call *call = call_new(r, strtoll(db_text(result, row, "call_id"), NULL, 10), function, label);

	call->job = job;
	free(label);
	return call;
}

/* Start rota-lua with `request`, and free the request. */
static bool call_run(struct staging_call *call, struct runner *r, json_t *request, int timeout)
{
	call->result = script_process_start(
		call->hook, r->base, r->conf,
		&(struct script_request){
			.function = call->function, .request = request, .timeout_s = timeout, .answer_most = RESULT_MOST});
	json_decref(request);
	if (call->result < 0)
		call->message = xstrdup(call->hook->message);
	return call->result >= 0;
}

bool staging_call_start(struct staging_call *call, struct runner *r, const PGresult *result, int row)
{
	struct err e = {0};
	int timeout = call_timeout(r->conf, call->function);
	int left = timeout - (int)strtol(db_text(result, row, "polled_s"), NULL, 10);

	if (left <= 0)
		err_set(&e, "not finished after %d second%s", timeout, text_plural(timeout));
	if (left <= 0 || !call_make_files(call, r, result, row, &e)) {
		call->message = xstrdup(e.message);
		log_warning("%s: %s", call->hook->label, e.message);
		return false;
	}
	return call_run(call, r, call_request(call, result, row), left);
}

struct staging_call *staging_call_start_pools(struct runner *r)
{
	struct staging_call *call = call_new(r, 0, "pools", "pools");

	call_run(call, r, call_request(call, NULL, 0), call_timeout(r->conf, call->function));
	return call;
}

/* Copy the outcome that rota-lua has written to its memory file. Returns false if there is none. */
static bool call_take_result(struct staging_call *call)
{
	json_t *answer = script_process_answer(call->result);
	const json_t *rc = json_object_get(answer, "rc");
	const char *message = json_string_value(json_object_get(answer, "message"));
	bool known = json_is_integer(rc);

	if (known)
		call->rc = json_integer_value(rc) == 0 ? 0 : -1;
	call->busy = json_is_true(json_object_get(answer, "busy"));
	if (message && (strcmp(call->function, "pools") == 0 || strcmp(call->function, "real_size") == 0))
		call->answer = xstrdup(message);
	if (message && *message) {
		call->message = xstrdup(message);
		text_clean(call->message);
		text_cut(call->message, MESSAGE_MOST);
	}
	json_decref(answer);
	return known;
}

/* Returns true if a text is UTF-8. The database refuses any other text. */
static bool call_is_text(const char *text)
{
	while (*text && text_character_size(text))
		text += text_character_size(text);
	return !*text;
}

/* Read the variables that the function paths wrote. */
static void call_take_variables(struct staging_call *call)
{
	int fd = open(call->variables_path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

	call->answer = script_process_read(fd, VARIABLES_MOST);
	if (fd >= 0)
		close(fd);
	if (call->answer && strlen(call->answer) < VARIABLES_MOST && call_is_text(call->answer))
		return;
	call->rc = -1;
	free(call->message);
	call->message = xstrdup("the path file cannot be read, is longer than 1 MiB or is not UTF-8 text");
	free(call->answer);
	call->answer = NULL;
}

void staging_call_finish(struct staging_call *call)
{
	if (*call->hook->message) { /* the process was stopped, or has failed */
		call->message = xstrdup(call->hook->message);
	} else if (!call_take_result(call)) {
		call->message = xstrdup("rota-lua gave no result");
	} else if (call->rc == 0 && call->variables_path) {
		call_take_variables(call);
	}
	if (call->rc != 0 && !*call->hook->message) /* a message of the hook is already logged */
		log_warning("%s: %s", call->hook->label, call->message ? call->message : "failed");
	if (call->script_path)
		unlink(call->script_path);
	if (call->variables_path)
		unlink(call->variables_path);
}
