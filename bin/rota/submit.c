/* submit.c - `rota submit`: send a script with its options and the environment to the gate; one job comes of it, or none.
 *
 * Each submission carries a client key. When no answer comes, the same request is sent again with the same key: if the first one
 * had arrived after all, the gate answers with the job that it made. So a submission is never lost and never doubled. A key that
 * we made up (retry_key) is known for longer than we ask; one that was given (client_key), for as long as the job. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "bin/rota/call.h"
#include "bin/rota/origin.h"
#include "bin/rota/submit_options.h"
#include "bin/rota/verb.h"
#include "bin/rota/wait.h"
#include "jobmgr/translate/option.h"
#include "lib/err.h"

enum { SUBMIT_PARSABLE = 256, SUBMIT_WAIT, SUBMIT_KEY, SUBMIT_MOST = 256 << 20 };

const struct verb_option submit_options[] = {
	{SUBMIT_PARSABLE, "parsable", NULL, "print the id of the job and nothing else"},
	{SUBMIT_WAIT, "wait", NULL, "wait until the job has ended, and exit as it did"},
	{SUBMIT_KEY, "client-key", "KEY", "name of this submission: a second one with the same key gives the same job"},
	VERB_OPTION_JSON,
#define OPTION SUBMIT_OPTIONS_ROW
#include "jobmgr/translate/options.def"
#undef OPTION
	{0, NULL, NULL, NULL},
};

/* The command line. */
struct submit_line {
	json_t *options; /* "--name=value", as the gate takes them */
	const char *script, *key;
	bool parsable, wait, json;
};

/* An option of this verb alone: how many words it took, 0 for none of them. */
static int own_option(const struct verb *verb, void *arg, int left, char **argv)
{
	struct submit_line *line = arg;
	static const char KEY[] = "--client-key";

	if (!strcmp(argv[0], "--parsable"))
		return line->parsable = true;
	if (!strcmp(argv[0], "--wait"))
		return line->wait = true;
	if (strncmp(argv[0], KEY, strlen(KEY)) || (argv[0][strlen(KEY)] && argv[0][strlen(KEY)] != '='))
		return submit_options_common(verb, left, argv, &line->json);
	if (argv[0][strlen(KEY)] == '=') {
		line->key = argv[0] + strlen(KEY) + 1;
		return 1;
	}
	if (left < 2)
		verb_misuse(verb, "option \"--client-key\" needs a value");
	line->key = argv[1];
	return 2;
}

/* What cannot travel as JSON text is refused here, with its line: NUL bytes, and what is not UTF-8. */
static json_t *script_json(const char *name, const char *text, size_t size, struct err *e)
{
	json_t *script = memchr(text, '\0', size) ? NULL : json_stringn(text, size);
	size_t at = 0;

	for (int line = 1; !script && at < size; line++) {
		const char *end = memchr(text + at, '\n', size - at);
		size_t length = (end ? (size_t)(end - text) : size) - at;
		bool nul = memchr(text + at, '\0', length) != NULL;
		json_t *one = nul ? NULL : json_stringn(text + at, length);

		if (!one) {
			err_set(e, "%s:%d: %s", name, line, nul ? "the script has a NUL byte" : "the script is not UTF-8 text");
			return NULL;
		}
		json_decref(one);
		at += length + 1;
	}
	return script;
}

/* The time in milliseconds, and 80 random bits: those of one time stand side by side in the database. As hex. */
static void key_make(char key[33])
{
	unsigned char bytes[16];
	struct timespec now;

	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		die("no random numbers: %s", strerror(errno));
	clock_gettime(CLOCK_REALTIME, &now);
	for (uint64_t i = 6, ms = (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000; i > 0; ms >>= 8)
		bytes[--i] = (unsigned char)ms;
	for (size_t i = 0; i < sizeof(bytes); i++)
		sprintf(key + 2 * i, "%02x", bytes[i]);
}

/* The request; NULL with an error. */
static json_t *request_make(const struct submit_line *line, struct err *e)
{
	char key[33];
	size_t size;
	char *text = submit_options_read(line->script, SUBMIT_MOST, &size, e);
	const char *name = strcmp(line->script, "-") ? line->script : "stdin";
	json_t *script, *request;

	if (!text)
		return NULL;
	script = script_json(name, text, size, e);
	free(text);
	if (!script)
		return NULL;
	key_make(key);
	request = json_pack("{so ss sO ss}", "script", script, "script_name", name, "options", line->options,
			    line->key ? "client_key" : "retry_key", line->key ? line->key : key);
	if (!request)
		err_set(e, "the name of the script or the key is not UTF-8");
	else
		origin_add(request);
	return request;
}

static void print(const struct submit_line *line, const json_t *answer)
{
	long long id = json_integer_value(json_object_get(answer, "job_id"));
	long long steps = json_integer_value(json_object_get(answer, "steps"));

	if (line->json)
		call_print_json();
	else if (line->parsable)
		printf("%lld\n", id);
	else
		printf("job %lld (%lld step%s)%s\n", id, steps, steps == 1 ? "" : "s",
		       json_is_true(json_object_get(answer, "known")) ? ", submitted before with this key" : "");
	fflush(stdout);
}

/* --wait. */
static int wait_for(const json_t *answer)
{
	char id[24];
	json_t *jobs, *end;
	int status;

	snprintf(id, sizeof(id), "%lld", (long long)json_integer_value(json_object_get(answer, "job_id")));
	jobs = json_pack("[s]", id);
	end = wait_jobs(jobs, -1);
	status = end ? wait_status(end) : call_status();
	json_decref(end);
	json_decref(jobs);
	return status;
}

int verb_submit(int argc, char **argv)
{
	struct submit_line line = {0};
	struct err e = {0};
	json_t *request, *answer;
	int status = EXIT_OK;

	line.options = json_array();
	line.script = submit_options_script(verb_find("submit"), line.options, argc, argv, own_option, &line);
	request = request_make(&line, &e);
	if (!request) {
		json_decref(line.options);
		call_error(&e);
		return EXIT_REFUSED;
	}
	answer = call_gate_once("submit", request);
	json_decref(line.options);
	if (!answer)
		return call_status();
	print(&line, answer);
	if (line.wait)
		status = wait_for(answer);
	json_decref(answer);
	return status;
}
