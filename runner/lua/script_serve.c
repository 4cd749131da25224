/* script_serve.c - the line protocol of `rota-lua serve` (script_serve.h; docs/formats.md, "The hook socket").
 *
 * Called by: bin/rota-lua.c.
 * Invariants:
 * - Each request line gets exactly one answer, in order. An error of a request or of a script is an answer too. */
#include "runner/lua/script_serve.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/err.h"
#include "lib/file.h"
#include "runner/lua/script_result.h"

enum { JOB_SUBMIT, BURST_BUFFER, SCRIPTS };
enum { ANSWER_MOST = 1000 << 10, READ_SIZE = 64 << 10 };

static const char *const names[SCRIPTS] = {"job_submit", "burst_buffer"};

/* The parts of a request line "SCRIPT FUNCTION BODY". */
struct serve_request {
	char script[16], function[64];
	json_t *body; /* NULL: the body is not JSON */
};

struct script_server {
	struct site_script *scripts[SCRIPTS]; /* the loaded scripts, by kind of script; NULL: the site has no such script */
};

struct script_server *script_server_new(const struct script_paths *paths, const struct script_bounds *bounds)
{
	const char *files[SCRIPTS] = {paths->job_submit, paths->burst_buffer};
	struct script_server *server = xcalloc(1, sizeof *server);

	for (int i = 0; i < SCRIPTS; i++)
		server->scripts[i] = files[i] && *files[i] ? site_script_new(files[i], bounds) : NULL;
	return server;
}

void script_server_free(struct script_server *server)
{
	for (int i = 0; i < SCRIPTS; i++)
		if (server->scripts[i])
			site_script_free(server->scripts[i]);
	free(server);
}

/* Returns the loaded script with this name; NULL: none. */
static struct site_script *serve_script(const struct script_server *server, const char *name)
{
	for (int i = 0; i < SCRIPTS; i++)
		if (strcmp(names[i], name) == 0)
			return server->scripts[i];
	return NULL;
}

/* Copy the first word of a line to `word`, and move *line to after it. Returns false if the word is longer than `size`, or if
 * nothing follows it. */
static bool serve_word(const char **line, size_t *length, char *word, size_t size)
{
	const char *end = memchr(*line, ' ', *length);
	size_t count = end ? (size_t)(end - *line) : size;

	if (count >= size)
		return false;
	memcpy(word, *line, count);
	word[count] = '\0';
	*line += count + 1;
	*length -= count + 1;
	return true;
}

/* Split a request line into its parts. */
static bool serve_read(struct serve_request *r, const char *line, size_t length)
{
	if (!serve_word(&line, &length, r->script, sizeof r->script) ||
	    !serve_word(&line, &length, r->function, sizeof r->function))
		return false;
	r->body = json_loadb(line, length, JSON_ALLOW_NUL, NULL);
	return true;
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

/* Returns the reason why the body of a request is malformed, or NULL. */
static const char *serve_body_objection(const struct serve_request *r)
{
	const json_t *desc = json_object_get(r->body, "desc"), *rec = json_object_get(r->body, "rec");
	const json_t *parts = json_object_get(r->body, "parts"), *uid = json_object_get(r->body, "uid");

	if (!json_is_object(r->body))
		return "the body of the request is no JSON object";
	if (!script_result_is_stage(r->function) && !json_is_object(desc))
		return "\"desc\" of the request is no object";
	if (rec && !json_is_object(rec))
		return "\"rec\" of the request is no object";
	if (parts && !json_is_array(parts))
		return "\"parts\" of the request is no array";
	if (uid && !json_is_integer(uid))
		return "\"uid\" of the request is no number";
	if (!serve_are_files(json_object_get(r->body, "files")))
		return "\"files\" of the request is no object of texts";
	return serve_are_texts(json_object_get(r->body, "args")) ? NULL : "\"args\" of the request is no array of texts";
}

/* Returns the reason why a request is refused, or NULL. */
static const char *serve_objection(const struct script_server *server, const struct serve_request *r)
{
	if (!serve_is_function(r->function))
		return "the request names no function of a site's script";
	if (!serve_script(server, r->script))
		return "there is no file for the script of the request; set it in section \"hooks\" of rota.conf and restart "
		       "runnerd";
	return serve_body_objection(r);
}

/* Write the answer as a line. An answer that is too long becomes an error. */
static char *serve_line(json_t *answer)
{
	char *text = json_dumps(answer, JSON_COMPACT), *line;

	if (!text || strlen(text) > ANSWER_MOST) {
		free(text);
		text = xstrdup("{\"error\":\"the script's answer is too long\"}");
	}
	line = xasprintf("%s\n", text);
	free(text);
	return line;
}

char *script_server_answer(struct script_server *server, const char *line, size_t length)
{
	struct serve_request r = {0};
	const char *objection =
		serve_read(&r, line, length) ? serve_objection(server, &r) : "the request is no line SCRIPT FUNCTION BODY";
	json_t *answer = objection ? json_pack("{s:s}", "error", objection)
				   : site_script_call(serve_script(server, r.script), r.function, r.body);
	char *text = serve_line(answer);

	json_decref(answer);
	json_decref(r.body);
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
