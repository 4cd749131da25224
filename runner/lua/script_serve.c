/* script_serve.c - the line protocol of `rota-lua serve` (script_serve.h; docs/formats.md, "The hook socket").
 *
 * Called by: bin/rota-lua.c.
 * Invariants:
 * - Each line gets exactly one answer, in order. What is wrong with a request or with a script is an answer as well. */
#include "runner/lua/script_serve.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/err.h"
#include "lib/file.h"
#include "runner/lua/script_result.h"

enum { SCRIPTS_MOST = 4, ANSWER_MOST = 1000 << 10, READ_SIZE = 64 << 10 };

struct script_server {
	const struct script_bounds *bounds;
	struct site_script *scripts[SCRIPTS_MOST]; /* the last one used stands first */
};

struct script_server *script_server_new(const struct script_bounds *bounds)
{
	struct script_server *server = xcalloc(1, sizeof *server);

	server->bounds = bounds;
	return server;
}

void script_server_free(struct script_server *server)
{
	for (int i = 0; i < SCRIPTS_MOST; i++)
		if (server->scripts[i])
			site_script_free(server->scripts[i]);
	free(server);
}

/* Returns the script of this file. The one that was not used for longest gives way to a new one. */
static struct site_script *serve_script(struct script_server *server, const char *path)
{
	struct site_script *found = NULL;
	int i = 0;

	while (i < SCRIPTS_MOST - 1 && server->scripts[i] && strcmp(site_script_path(server->scripts[i]), path) != 0)
		i++;
	found = server->scripts[i];
	if (found && strcmp(site_script_path(found), path) != 0) {
		site_script_free(found);
		found = NULL;
	}
	if (!found)
		found = site_script_new(path, server->bounds);
	memmove(server->scripts + 1, server->scripts, (size_t)i * sizeof *server->scripts);
	server->scripts[0] = found;
	return found;
}

static bool serve_is_function(const char *name)
{
	return !strcmp(name, "slurm_job_submit") || !strcmp(name, "slurm_job_modify") || script_result_is_stage(name);
}

/* Returns true if `arguments` is missing or an array of texts. */
static bool serve_are_texts(const json_t *arguments)
{
	const json_t *argument;
	size_t i;

	if (!arguments)
		return true;
	json_array_foreach (arguments, i, argument) {
		if (!json_is_string(argument))
			return false;
	}
	return json_is_array(arguments);
}

/* Returns true if `files` is missing or an object of texts. */
static bool serve_are_files(const json_t *files)
{
	const char *name;
	const json_t *text;

	if (!files)
		return true;
	json_object_foreach ((json_t *)files, name, text) {
		if (!json_is_string(text))
			return false;
	}
	return json_is_object(files);
}

/* Returns what is wrong with a request, or NULL. */
static const char *serve_objection(const json_t *request)
{
	const char *file = json_string_value(json_object_get(request, "file"));
	const char *function = json_string_value(json_object_get(request, "function"));
	const json_t *desc = json_object_get(request, "desc"), *rec = json_object_get(request, "rec");
	const json_t *parts = json_object_get(request, "parts"), *uid = json_object_get(request, "uid");

	if (!json_is_object(request))
		return "the request is no JSON object";
	if (!file || *file != '/')
		return "\"file\" of the request is no absolute path";
	if (!function || !serve_is_function(function))
		return "\"function\" of the request is no function of a site's script";
	if (!script_result_is_stage(function) && !json_is_object(desc))
		return "\"desc\" of the request is no object";
	if (rec && !json_is_object(rec))
		return "\"rec\" of the request is no object";
	if (parts && !json_is_array(parts))
		return "\"parts\" of the request is no array";
	if (uid && !json_is_integer(uid))
		return "\"uid\" of the request is no number";
	if (!serve_are_files(json_object_get(request, "files")))
		return "\"files\" of the request is no object of texts";
	return serve_are_texts(json_object_get(request, "args")) ? NULL : "\"args\" of the request is no array of texts";
}

/* Write the answer as a line. One that is too long becomes an error. */
static char *serve_line(json_t *answer, json_t *id)
{
	char *text, *line;

	json_object_set(answer, "id", id);
	text = json_dumps(answer, JSON_COMPACT);
	if (!text || strlen(text) > ANSWER_MOST) {
		free(text);
		json_object_clear(answer);
		json_object_set(answer, "id", id);
		json_object_set_new(answer, "error", json_string("the script's answer is too long"));
		text = json_dumps(answer, JSON_COMPACT);
	}
	if (!text)
		die("out of memory");
	line = xasprintf("%s\n", text);
	free(text);
	return line;
}

char *script_server_answer(struct script_server *server, const char *line, size_t length)
{
	json_error_t error;
	json_t *request = json_loadb(line, length, JSON_ALLOW_NUL, &error), *answer, *id = json_object_get(request, "id");
	const char *objection = serve_objection(request), *file;
	char *text;

	if (objection) {
		answer = json_pack("{s:s}", "error", objection);
	} else {
		file = json_string_value(json_object_get(request, "file"));
		answer = site_script_call(serve_script(server, file), request);
	}
	text = serve_line(answer, id ? id : json_null());
	json_decref(answer);
	json_decref(request);
	return text;
}

static bool serve_write(int out, const char *line, struct err *e)
{
	return file_write_all(out, line, strlen(line)) || err_sys(e, "could not write an answer");
}

/* Answer all whole lines of the `*length` bytes in `buffer`, and move the rest to its beginning. */
static bool serve_lines(struct script_server *server, int out, char *buffer, size_t *length, struct err *e)
{
	char *line = buffer, *end;
	bool good = true;

	while (good && (end = memchr(line, '\n', *length - (size_t)(line - buffer)))) {
		char *answer = script_server_answer(server, line, (size_t)(end - line));

		good = serve_write(out, answer, e);
		free(answer);
		line = end + 1;
	}
	*length -= (size_t)(line - buffer);
	memmove(buffer, line, *length);
	return good;
}

bool script_server_run(struct script_server *server, int in, int out, struct err *e)
{
	char *buffer = xmalloc(SCRIPT_LINE_MOST + READ_SIZE);
	size_t length = 0;
	bool good = true;

	while (good) {
		ssize_t size = read(in, buffer + length, READ_SIZE);

		if (size < 0 && errno == EINTR)
			continue;
		if (size <= 0) {
			good = size == 0 || err_sys(e, "could not read a request");
			break;
		}
		length += (size_t)size;
		good = serve_lines(server, out, buffer, &length, e);
		if (good && length > SCRIPT_LINE_MOST)
			good = err_set(e, "a request is longer than %d bytes", SCRIPT_LINE_MOST);
	}
	free(buffer);
	return good;
}
