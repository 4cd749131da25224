/* submit.c - `rota submit`: send a script with its options and the environment to the gate; one job comes of it, or none. With
 * --each, several scripts in one request: a job comes of each, or none of any.
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

enum { SUBMIT_PARSABLE = 256, SUBMIT_WAIT, SUBMIT_KEY, SUBMIT_EACH, SUBMIT_MOST = 256 << 20 };

const struct verb_option submit_options[] = {
	{SUBMIT_PARSABLE, "parsable", NULL, "print the id of the job and nothing else"},
	{SUBMIT_WAIT, "wait", NULL, "wait until the job has ended, and exit as it did"},
	{SUBMIT_EACH, "each", NULL, "submit every SCRIPT as a job of its own: all of them, or none"},
	{SUBMIT_KEY, "client-key", "KEY",
	 "name of this submission: a second one with the same key gives the same job (with --each, of each script by its name)"},
	VERB_OPTION_JSON,
#define OPTION SUBMIT_OPTIONS_ROW
#include "jobmgr/translate/options.def"
#undef OPTION
	{0, NULL, NULL, NULL},
};

/* The command line. */
struct submit_line {
	json_t *options;	    /* "--name=value", as the gate takes them */
	const char **scripts, *key; /* NULL behind the last script */
	bool each, parsable, wait, json;
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
	if (!strcmp(argv[0], "--each"))
		return line->each = true;
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

/* The time in milliseconds, and 80 random bits: those of one time stand side by side in the database. As hex, malloc'ed. */
static char *key_make(void)
{
	unsigned char bytes[16];
	char *key = xmalloc(2 * sizeof(bytes) + 1);
	struct timespec now;

	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		die("no random numbers: %s", strerror(errno));
	clock_gettime(CLOCK_REALTIME, &now);
	for (uint64_t i = 6, ms = (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000; i > 0; ms >>= 8)
		bytes[--i] = (unsigned char)ms;
	for (size_t i = 0; i < sizeof(bytes); i++)
		sprintf(key + 2 * i, "%02x", bytes[i]);
	return key;
}

/* The key of one script: of several, a key that was given is that of all, so the name of the script tells them apart. */
static char *key_of(const struct submit_line *line, const char *name)
{
	if (!line->key)
		return key_make();
	return line->each ? xasprintf("%s %s", line->key, name) : xstrdup(line->key);
}

/* What is said of one script: its text, its name and its key; NULL with an error. */
static json_t *script_request(const struct submit_line *line, const char *path, struct err *e)
{
	const char *name = strcmp(path, "-") ? path : "stdin";
	size_t size;
	char *text = submit_options_read(path, SUBMIT_MOST, &size, e), *key;
	json_t *script = text ? submit_options_script(name, text, size, e) : NULL, *request;

	free(text);
	if (!script)
		return NULL;
	key = key_of(line, name);
	request = json_pack("{so ss ss}", "script", script, "script_name", name, line->key ? "client_key" : "retry_key", key);
	if (!request)
		err_set(e, "the name of the script or the key is not UTF-8");
	free(key);
	return request;
}

/* A request for a job of each script; NULL with an error. */
static json_t *each_request(const struct submit_line *line, struct err *e)
{
	json_t *jobs = json_array();

	for (int i = 0; line->scripts[i]; i++) {
		json_t *one = script_request(line, line->scripts[i], e);

		if (!one) {
			json_decref(jobs);
			return NULL;
		}
		json_array_append_new(jobs, one);
	}
	return json_pack("{so}", "jobs", jobs);
}

/* The answers for all jobs, whichever way they were asked for. */
static json_t *answer_jobs(const struct submit_line *line, const json_t *answer)
{
	return line->each ? json_incref(json_object_get(answer, "jobs")) : json_pack("[O]", answer);
}

static void print_one(const struct submit_line *line, const json_t *job, const char *script)
{
	long long id = json_integer_value(json_object_get(job, "job_id"));
	long long steps = json_integer_value(json_object_get(job, "steps"));

	if (line->parsable)
		printf("%lld\n", id);
	else
		printf("job %lld (%lld step%s)%s%s%s\n", id, steps, steps == 1 ? "" : "s", line->each ? ": " : "",
		       line->each ? script : "",
		       json_is_true(json_object_get(job, "known")) ? ", submitted before with this key" : "");
}

static void print(const struct submit_line *line, const json_t *jobs)
{
	size_t i;

	if (line->json)
		call_print_json();
	else
		for (i = 0; i < json_array_size(jobs) && line->scripts[i]; i++)
			print_one(line, json_array_get(jobs, i), line->scripts[i]);
	fflush(stdout);
}

/* --wait. Where standard output is for a program, it only has what was asked for; what failed is told beside it. */
static int wait_for(const struct submit_line *line, const json_t *jobs)
{
	bool plain = !line->parsable && !line->json;
	json_t *labels = json_array(), *end;
	const json_t *job;
	int status;
	size_t i;

	json_array_foreach (jobs, i, job)
		json_array_append_new(labels,
				      json_sprintf("%lld", (long long)json_integer_value(json_object_get(job, "job_id"))));
	end = wait_jobs(labels, -1);
	status = end ? wait_status(end) : call_status();
	if (end && (plain || status))
		wait_print(end, plain ? stdout : stderr);
	if (end && status)
		wait_reasons(end, stderr);
	json_decref(end);
	json_decref(labels);
	return status;
}

/* Read the command line; misuse ends the process. */
static void line_read(struct submit_line *line, int argc, char **argv)
{
	const struct verb *verb = verb_find("submit");

	line->options = json_array();
	line->scripts = submit_options_scripts(verb, line->options, argc, argv, own_option, line);
	if (!line->each && line->scripts[1])
		verb_misuse(verb, "\"%s\" is too much: one script makes one job; with --each, each makes its own",
			    line->scripts[1]);
}

int verb_submit(int argc, char **argv)
{
	struct submit_line line = {0};
	struct err e = {0};
	json_t *request, *answer, *jobs;
	int status = EXIT_OK;

	line_read(&line, argc, argv);
	request = line.each ? each_request(&line, &e) : script_request(&line, line.scripts[0], &e);
	json_object_set(request, "options", line.options);
	json_decref(line.options);
	if (!request || !origin_add(request, &e)) {
		json_decref(request);
		free(line.scripts);
		return call_refuse(&e);
	}
	answer = call_gate_once("submit", request);
	jobs = answer ? answer_jobs(&line, answer) : NULL;
	if (jobs)
		print(&line, jobs);
	else
		status = call_status();
	if (jobs && line.wait)
		status = wait_for(&line, jobs);
	json_decref(jobs);
	json_decref(answer);
	free(line.scripts);
	return status;
}
