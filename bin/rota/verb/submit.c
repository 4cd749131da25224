/* submit.c - `rota submit`: sends a script with its options and the environment to jobmgrd, which makes a job of the script.
 * With --each, one request has several jobs.
 *
 * Invariants:
 * - One request makes all its jobs or none.
 * - Each submission has a key. Without an answer, the request is sent again with the same key, and jobmgrd answers with the
 *   job that the first request made. So a submission is neither lost nor made twice (submit_key.h). */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bin/rota/call/call.h"
#include "bin/rota/submit/forward.h"
#include "bin/rota/submit/origin.h"
#include "bin/rota/submit/submit_each.h"
#include "bin/rota/submit/submit_key.h"
#include "bin/rota/submit/submit_options.h"
#include "bin/rota/submit/syntax.h"
#include "bin/rota/line/verb.h"
#include "bin/rota/jobs/wait.h"
#include "jobmgr/translate/option.h"
#include "lib/err.h"
#include "lib/text.h"

enum {
	SUBMIT_PARSABLE = 256,
	SUBMIT_WAIT,
	SUBMIT_KEY,
	SUBMIT_EACH,
	SUBMIT_WRAP,
	SUBMIT_ARG_FILE,
	SUBMIT_BBF,
	SUBMIT_MOST = 256 << 20,
	SUBMIT_LOOKED_AT = 20
};

const struct verb_option submit_options[] = {
	{SUBMIT_PARSABLE, "parsable", NULL, "print only the id of the job"},
	{SUBMIT_WAIT, "wait", NULL, "wait until the job has ended, and exit as it did"},
	{SUBMIT_WRAP, "wrap", "COMMAND", "submit a command for /bin/sh instead of a script; the job is named wrap"},
	{SUBMIT_ARG_FILE, "arg-file", "FILE",
	 "with --each (or -a FILE): a job for each line of FILE; in options and arguments, {} is the line and {1}, {2} are its "
	 "words"},
	{SUBMIT_EACH, "each", NULL, "submit every SCRIPT as a job of its own; all are accepted or none"},
	SUBMIT_OPTIONS_BBF(SUBMIT_BBF),
	{SUBMIT_KEY, "client-key", "KEY",
	 "name of this submission; another one with the same key returns the same job (with --each, for each script by its "
	 "name)"},
	VERB_OPTION_JSON,
#define OPTION SUBMIT_OPTIONS_ROW
#include "jobmgr/translate/options.def"
#undef OPTION
	{0, NULL, NULL, NULL},
};

/* The command line of `rota submit`. */
struct submit_line {
	json_t *options;       /* options of the submission: "--name=value" */
	const char **operands; /* NULL-terminated: the script and its arguments, or with `each` all scripts */
	const char *wrap, *key, *list;
	json_t *lines; /* lines of the file `list`; NULL without a list */
	bool each, parsable, wait, json;
	bool several; /* all operands are scripts */
};

/* Take an option of `rota submit` alone. Returns the number of arguments that the option consists of, 0 for another option. */
static int own_option(const struct verb *verb, void *arg, int left, char **argv)
{
	struct submit_line *line = arg;
	int took;

	if (!strcmp(argv[0], "--parsable"))
		return line->parsable = true;
	if (!strcmp(argv[0], "--wait"))
		return line->wait = true;
	line->several = line->each && !line->list;
	if (!strcmp(argv[0], "--each"))
		return line->each = line->several = true;
	/* after --each, -a with digits, as in -a 0-3, is still --array */
	if (line->each && !strcmp(argv[0], "-a") && left > 1 &&
	    (!strcmp(argv[1], "-") || argv[1][strspn(argv[1], "0123456789-,:%")])) {
		line->list = argv[1];
		line->several = false;
		return 2;
	}
	took = submit_options_valued(verb, "--wrap", &line->wrap, left, argv);
	if (!took)
		took = submit_options_valued(verb, "--arg-file", &line->list, left, argv);
	if (!took)
		took = submit_options_bbf(verb, line->options, left, argv);
	line->several = line->each && !line->list;
	if (!took)
		took = submit_options_valued(verb, "--client-key", &line->key, left, argv);
	return took ? took : submit_options_common(verb, left, argv, &line->json);
}

/* Returns the key of the submission of one script; malloc'ed. With several scripts, a given key is followed by the name of the
 * script. */
static char *key_of(const struct submit_line *line, const char *name)
{
	if (!line->key)
		return submit_key_new();
	return line->each ? xasprintf("%s %s", line->key, name) : xstrdup(line->key);
}

/* Returns a script that runs a command; malloc'ed. */
static char *wrap_script(const char *command, size_t *size)
{
	char *text = xasprintf("#!/bin/sh\n# This script was created by rota submit --wrap.\n\n%s\n", command);

	*size = strlen(text);
	return text;
}

/* Returns the part of a request for one script: text, name and key; NULL with an error on failure. A wrapped command (--wrap)
 * has no path. */
static json_t *script_request(const struct submit_line *line, const char *path, struct err *e)
{
	const char *name = !path ? "wrap" : strcmp(path, "-") ? path : "stdin";
	size_t size;
	char *text = path ? submit_options_read(path, SUBMIT_MOST, &size, e) : wrap_script(line->wrap, &size), *key;
	json_t *script = text ? submit_options_script(name, text, size, e) : NULL, *request;

	if (!text && strchr(name, ' '))
		err_hint(e, "If this is a command, write rota submit --wrap='%s'", name);
	free(text);
	if (!script)
		return NULL;
	key = key_of(line, name);
	request = json_pack("{so ss ss}", "script", script, "script_name", name, line->key ? "client_key" : "retry_key", key);
	if (!request)
		err_set(e, "the name of the script or the value of --client-key is not UTF-8");
	free(key);
	return request;
}

/* Returns a request that makes a job of each script; NULL with an error on failure. */
static json_t *each_request(const struct submit_line *line, struct err *e)
{
	json_t *jobs = json_array();

	for (int i = 0; line->operands[i]; i++) {
		json_t *one = script_request(line, line->operands[i], e);

		if (!one) {
			json_decref(jobs);
			return NULL;
		}
		json_array_append_new(jobs, one);
	}
	return json_pack("{so}", "jobs", jobs);
}

/* Returns the key of the job of line i; malloc'ed. */
static char *line_key(const struct submit_line *line, size_t i)
{
	return line->key ? xasprintf("%s %zu", line->key, i + 1) : submit_key_new();
}

/* Returns a request that makes a job of each line of a list; NULL with an error on failure. */
static json_t *lines_request(struct submit_line *line, struct err *e)
{
	const char *name = strcmp(line->operands[0], "-") ? line->operands[0] : "stdin";
	size_t size, i;
	char *text = submit_options_read(line->operands[0], SUBMIT_MOST, &size, e);
	bool good = text && submit_each_check(name, text, e);
	json_t *script = good ? submit_options_script(name, text, size, e) : NULL, *jobs = json_array(), *one;
	json_t *arguments = submit_options_arguments(line->operands + 1, e);

	free(text);
	line->lines = script && arguments ? submit_each_lines(line->list, e) : NULL;
	json_array_foreach (line->lines, i, one) {
		json_t *job = submit_each_job(json_string_value(one), line->options, arguments, e);
		char *key;

		if (!job)
			break;
		key = line_key(line, i);
		json_object_set_new(job, line->key ? "client_key" : "retry_key", json_string(key));
		free(key);
		json_array_append_new(jobs, job);
	}
	json_decref(arguments);
	if (line->lines && json_array_size(jobs) == json_array_size(line->lines))
		return json_pack("{so ss so}", "script", script, "script_name", name, "jobs", jobs);
	json_decref(script);
	json_decref(jobs);
	return NULL;
}

/* Returns a request that makes one job, with the arguments of its script; NULL with an error on failure. */
static json_t *one_request(const struct submit_line *line, struct err *e)
{
	json_t *request = script_request(line, line->operands[0], e), *arguments = NULL;

	if (request && line->operands[0] && line->operands[1]) {
		arguments = submit_options_arguments(line->operands + 1, e);
		if (arguments) {
			json_object_set_new(request, "arguments", arguments);
		} else {
			json_decref(request);
			request = NULL;
		}
	}
	return request;
}

/* Let the shell check the first steps of a script while jobmgrd handles the request. Only on a terminal, because programs
 * submit thousands of scripts. */
static struct syntax *syntax_of(const struct submit_line *line, const json_t *request)
{
	const json_t *script = json_object_get(request, "script");
	const char *name = json_string_value(json_object_get(request, "script_name"));

	if (line->each || !isatty(STDERR_FILENO))
		return NULL;
	return syntax_begin(name, json_string_value(script), json_string_length(script), SUBMIT_LOOKED_AT);
}

/* Returns the answers for all jobs as a list, whether or not the request had several jobs. */
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
		printf("job %lld (%lld step%s)%s%s%s\n", id, steps, text_plural(steps), line->each ? ": " : "",
		       line->each ? script : "",
		       json_is_true(json_object_get(job, "known")) ? ", submitted before with this key" : "");
}

static void submit_print(const struct submit_line *line, const json_t *jobs)
{
	size_t i;

	for (i = 0; i < json_array_size(jobs); i++)
		submit_options_warn(json_object_get(json_array_get(jobs, i), "warnings"));
	if (line->json)
		call_print_json();
	else
		for (i = 0; i < json_array_size(jobs); i++)
			print_one(line, json_array_get(jobs, i),
				  line->lines  ? json_string_value(json_array_get(line->lines, i))
				  : line->each ? line->operands[i]
					       : "");
	fflush(stdout);
}

/* Wait for the jobs and print how they ended (--wait). With --parsable or --json, failures go to standard error, since
 * standard output has only the answer. Returns the exit status. */
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
		wait_reasons(end, false, stderr);
	json_decref(end);
	json_decref(labels);
	return status;
}

/* Read the command line; misuse ends the process. */
static void line_read(const struct verb *verb, struct submit_line *line, int argc, char **argv)
{
	line->options = json_array();
	line->operands = submit_options_operands(verb, line->options, argc, argv, own_option, line, &line->several);
	if (line->list && !line->each)
		verb_misuse(verb, "--arg-file needs --each");
	if (line->list && line->operands[0] && !strcmp(line->list, "-") && !strcmp(line->operands[0], "-"))
		verb_misuse(verb, "the script and --arg-file cannot both be standard input");
	if (line->wrap && line->operands[0])
		verb_misuse(verb, "\"%s\" is one operand too many: a command of --wrap has no arguments", line->operands[0]);
	if (line->wrap && line->each)
		verb_misuse(verb, "--each and --wrap cannot be combined");
	if (!line->wrap && !line->operands[0])
		verb_misuse(verb, "name a script, or - for standard input; or submit a command with --wrap");
}

int verb_submit(const struct verb *verb, int argc, char **argv)
{
	struct submit_line line = {0};
	struct err e = {0};
	json_t *request, *answer, *jobs;
	struct syntax *syntax;
	int status;

	line_read(verb, &line, argc, argv);
	request = line.list ? lines_request(&line, &e) : line.each ? each_request(&line, &e) : one_request(&line, &e);
	if (!line.list)
		json_object_set(request, "options", line.options);
	json_decref(line.options);
	if (!request || !origin_add(request, &e)) {
		json_decref(request);
		json_decref(line.lines);
		free(line.operands);
		return call_refuse(&e);
	}
	syntax = syntax_of(&line, request);
	answer = forward_submit(request, &status);
	syntax_end(syntax);
	jobs = answer ? answer_jobs(&line, answer) : NULL;
	if (jobs)
		submit_print(&line, jobs);
	if (jobs && line.wait)
		status = wait_for(&line, jobs);
	json_decref(jobs);
	json_decref(answer);
	json_decref(line.lines);
	free(line.operands);
	return status;
}
