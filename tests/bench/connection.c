/* connection.c - jobs submitted over one kept-alive HTTP connection, each request with a credential and a key of its own.
 *
 * tests/bench/submit.py and read.py start it: connection CONFIG COUNT SCRIPT [OPTION]... It prints how many a second were answered.
 * What always holds: the next request goes out when the one before was answered, and any answer but a new job ends it. */
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
	return json_pack("{ss ss so ss s[s]}", "script", text, "script_name", words[0], "options", options, "workdir", "/", "environment",
			 "PATH=/usr/bin:/bin");
}

static void submit(struct http *http, json_t *request, int number)
{
	struct err e = {0};
	char key[64], *body, *answer;
	int status;

	snprintf(key, sizeof key, "connection %d %d", (int)getpid(), number);
	json_object_set_new(request, "client_key", json_string(key));
	body = json_dumps(request, JSON_COMPACT);
	if (!http_request(http, "POST", "/v1/submit", body, strlen(body), &status, &answer, NULL, &e))
		die("%s", e.message);
	if (status != 200 || !strstr(answer, "\"known\": false"))
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
	int count;

	if (argc < 4 || (count = atoi(argv[2])) <= 0)
		die("usage: connection CONFIG COUNT SCRIPT [OPTION]...");
	if (!conf_load(&conf, argv[1], &e) || !(http = http_open(&conf, &e)))
		die("%s", e.message);
	request = request_make(argv + 3);
	began = now();
	for (int i = 0; i < count; i++)
		submit(http, request, i);
	printf("%.1f\n", count / (now() - began));
	json_decref(request);
	http_close(http);
	conf_clear(&conf);
	return 0;
}
