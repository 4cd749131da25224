/* script_serve_fuzz.c - libFuzzer on the requests of rota-lua serve. Each line gets one answer, a JSON object. An object in the input is
 * also given to a script as a job, with its texts as files: what the script leaves alone is no change. */
#include <jansson.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/err.h"
#include "runner/lua/script_serve.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char script[] =
	"function slurm_job_submit(desc, parts, uid)\n"
	"for k, v in pairs(desc) do desc[k] = v end\n"
	"for k, v in pairs(parts) do local x = v.name end\n"
	"return slurm.json_decode(slurm.json_encode(desc) or '') and slurm.time_str2mins(desc.name or '') * 0\n"
	"end\n"
	"function slurm_bb_paths(...)\n"
	"for i, name in ipairs({...}) do\n"
	"local f = io.open(name, 'r+')\n"
	"if f then f:read('n', 'l', 3, 'a') f:seek('set') f:write(f:read('a') or '') end\n"
	"end\n"
	"return 0, job_info\n"
	"end\n";
static const struct script_bounds bounds = {.instructions = 1000000, .memory = 16 << 20, .seconds = 0};
static struct script_server *server;
static char path[64];

static void remove_script(void)
{
	unlink(path);
}

static void make_server(void)
{
	int fd;

	snprintf(path, sizeof path, "/tmp/script_serve_fuzz.XXXXXX");
	fd = mkstemp(path);
	if (fd < 0 || write(fd, script, sizeof script - 1) != sizeof script - 1)
		abort();
	close(fd);
	atexit(remove_script);
	server = script_server_new(&(struct script_paths){.job_submit = path, .burst_buffer = path}, &bounds);
}

/* Answer a line, and return the answer, which must be an object. */
static json_t *answer_line(const char *line, size_t length)
{
	char *text = script_server_answer(server, line, length);
	json_t *answer = json_loads(text, JSON_ALLOW_NUL, NULL);

	if (!json_is_object(answer) || strchr(text, '\n') != text + strlen(text) - 1)
		abort();
	free(text);
	return answer;
}

/* Answer a request. Frees its body. */
static json_t *answer_request(const char *head, json_t *body)
{
	char *text = json_dumps(body, JSON_COMPACT), *line = xasprintf("%s %s", head, text);
	json_t *answer = answer_line(line, strlen(line));

	json_decref(body);
	free(text);
	free(line);
	return answer;
}

/* Give the object to the script as a job. */
static void give_job(json_t *job)
{
	json_t *answer = answer_request("job_submit slurm_job_submit", json_pack("{s:O, s:[O]}", "desc", job, "parts", job));

	if (json_object_size(json_object_get(answer, "changes")) && !json_object_get(answer, "error")) {
		const char *key;
		json_t *value;

		json_object_foreach (json_object_get(answer, "changes"), key, value) {
			if (!json_is_null(value)) /* NO_VAL: not set */
				abort();
		}
	}
	json_decref(answer);
}

/* Give the names of the object to the script as files. */
static void give_files(json_t *files)
{
	json_t *names = json_array(), *value;
	const char *name;

	json_object_foreach (files, name, value) {
		json_array_append_new(names, json_string(name));
	}
	json_decref(answer_request("burst_buffer slurm_bb_paths",
				   json_pack("{s:o, s:O, s:O}", "args", names, "files", files, "job_info", files)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	json_t *object;

	if (!server)
		make_server();
	if (memchr(data, '\n', size))
		return -1;
	object = json_loadb((const char *)data, size, JSON_ALLOW_NUL, NULL);
	if (json_is_object(object)) {
		give_job(object);
		give_files(object);
	}
	json_decref(answer_line((const char *)data, size));
	json_decref(object);
	return 0;
}
