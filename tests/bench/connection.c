/* connection.c - submits jobs over one kept-alive HTTP connection, each request with a munge credential, each job with its own client key.
 *
 * tests/bench/submit.py and read.py start it: connection CONFIG COUNT EACH SCRIPT [OPTION]... submits COUNT jobs, EACH in a request, and
 * prints the number of jobs a second.
 * Invariants: a request is sent after the answer to the one before; any answer but new jobs ends the program. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lib/conf.h"
#include "lib/http.h"

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static json_t *request_make(char **words)
{
	json_t *options = json_array();
	char text[4096] = "";
	FILE *file = fopen(words[0], "r");

	if (!file || fread(text, 1, sizeof text - 1, file) == 0)
		die("could not read \"%s\"", words[0]);
	fclose(file);
	for (int i = 1; words[i]; i++)
		json_array_append_new(options, json_string(words[i]));
	return json_pack("{ss ss so ss s[s]}", "script", text, "script_name", words[0], "options", options, "workdir", "/",
			 "environment", "PATH=/usr/bin:/bin");
}

/* Give the request the client keys of the jobs from `number` on: of one job as a member of the request, of several as the list `jobs`. */
static void request_name(json_t *request, int number, int each)
{
	json_t *jobs = json_array();

	for (int i = number; i < number + each; i++)
		json_array_append_new(jobs, json_pack("{so}", "client_key", json_sprintf("connection %d %d", (int)getpid(), i)));
	if (each == 1)
		json_object_update(request, json_array_get(jobs, 0));
	else
		json_object_set(request, "jobs", jobs);
	json_decref(jobs);
}

static int count_of(const char *text, const char *part)
{
	int count = 0;

	for (const char *at = text; (at = strstr(at, part)); at += strlen(part))
		count++;
	return count;
}

static void submit(struct http *http, json_t *request, int number, int each)
{
	struct err e = {0};
	char *body, *answer;
	int status;

	request_name(request, number, each);
	body = json_dumps(request, JSON_COMPACT);
	if (!http_request(http, "POST", "/v1/submit", body, strlen(body), &status, &answer, NULL, &e))
		die("%s", e.message);
	if (status != 200 || count_of(answer, "\"known\": false") != each)
		die("answer %d: %s", status, answer);
	free(answer);
	free(body);
}

int main(int argc, char **argv)
{
	struct conf conf = {0};
	struct err e = {0};
	struct http *http;
	json_t *request;
	double began;
	int count, each;

	if (argc < 5 || (count = atoi(argv[2])) <= 0 || (each = atoi(argv[3])) <= 0 || count % each)
		die("usage: connection CONFIG COUNT EACH SCRIPT [OPTION]..., COUNT being a multiple of EACH");
	if (!conf_load(&conf, argv[1], &e) || !(http = http_open(&conf, &e)))
		die("%s", e.message);
	request = request_make(argv + 4);
	began = now();
	for (int i = 0; i < count; i += each)
		submit(http, request, i, each);
	printf("%.1f\n", count / (now() - began));
	json_decref(request);
	http_close(http);
	conf_clear(&conf);
	return 0;
}
