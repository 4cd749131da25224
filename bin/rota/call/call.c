/* call.c - the client of the HTTP API: one connection per process, JSON requests and answers, refusals printed in one place.
 *
 * Called by: every verb that needs jobmgrd, through call_gate(). A refusal is {"error": {code, message, hint}}. The refusal of a
 * script also has a list of problems, each with its file and line (jobmgr/gate/gate_answer.h). */
#include "bin/rota/call/call.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bin/rota/instance/process.h"
#include "bin/rota/call/call_seen.h"
#include "bin/rota/call/rows.h"
#include "bin/rota/line/verb.h"
#include "lib/clock.h"
#include "lib/http.h"
#include "lib/text.h"
#include "lib/unreachable.h"

enum { STALE_PATIENCE = 10 }; /* seconds for which requests with --stale-ok are tried, while jobmgrd connects to a standby */
enum { SILENT_US = 2000000 }; /* a command that waits longer prints a message */

static struct {
	struct conf conf;
	const char *path;
	bool loaded;
	bool json, stale; /* stale: requests accept an old answer */
	json_t *age;	  /* member `stale` of the last answer, the age of that answer; NULL: the answer is up to date */
	void (*before_failure)(void);
	bool waited; /* the message about waiting was printed since the last call_waited() */
	struct http *http;
	char *text;	  /* text of the last answer */
	int status;	  /* exit status of the process after a failed request */
	bool unavailable; /* no answer, or HTTP status 503 or 504 */
} gate;

void call_error(const struct err *e)
{
	fflush(stdout);
	fprintf(stderr, "rota: %s\n", e->message);
	if (e->hint[0])
		fprintf(stderr, "hint: %s\n", e->hint);
}

void call_use_config(const char *path)
{
	gate.path = path;
}

const char *call_config_path(void)
{
	return gate.path;
}

void call_use_json(void)
{
	gate.json = true;
}

void call_use_stale(void)
{
	gate.stale = true;
}

const json_t *call_stale(void)
{
	return gate.age;
}

void call_before_failure(void (*then)(void))
{
	gate.before_failure = then;
}

static bool conf_loaded(struct err *e)
{
	if (!gate.loaded && conf_load(&gate.conf, gate.path, e)) {
		gate.loaded = true;
		call_seen_keep(&gate.conf);
	}
	return gate.loaded;
}

const struct conf *call_conf(void)
{
	struct err e = {0};

	if (!conf_loaded(&e)) {
		call_error(&e);
		exit(EXIT_NO_GATE);
	}
	return &gate.conf;
}

const struct conf *call_conf_try(void)
{
	struct err e = {0};

	return conf_loaded(&e) ? &gate.conf : NULL;
}

int call_status(void)
{
	return gate.status;
}

/* Send one request on the connection that is kept between requests. */
static bool call_exchange(const struct conf *conf, const char *target, const char *body, int *status, char **answer,
			  struct err *e)
{
	size_t size;

	if (!gate.http && !(gate.http = http_open(conf, e)))
		return false;
	return http_request(gate.http, "POST", target, body, strlen(body), status, answer, &size, e);
}

/* Turn a refusal into an error. */
static void refusal(const json_t *answer, int status, struct err *e)
{
	const json_t *error = json_object_get(answer, "error");
	const char *message = json_string_value(json_object_get(error, "message"));
	const char *hint = json_string_value(json_object_get(error, "hint"));
	const char *code = json_string_value(json_object_get(error, "code"));

	if (message)
		err_set(e, "%s", message);
	else if (status == 413) /* status 413: the HTTP library answers with a page of its own, without JSON */
		err_set(e, "the request is larger than jobmgrd accepts (gate.max_body in rota.conf)");
	else
		err_set(e, "jobmgrd answered with HTTP status %d", status);
	e->hint[0] = '\0';
	if (hint)
		err_hint(e, "%s", hint);
	snprintf(e->code, sizeof(e->code), "%s", code ? code : "");
}

/* Replace control characters, except those of `kept`, by "?", because they could change the terminal. */
static void text_clean_json(json_t *value, const char *kept)
{
	const char *text = json_string_value(value);
	char *clean = NULL;

	for (const char *c = text; *c; c++) {
		size_t bytes = text_control_size(c);

		if (!bytes || strchr(kept, *c))
			continue;
		if (!clean)
			clean = xstrdup(text);
		memset(clean + (c - text), '?', bytes);
		c += bytes - 1;
	}
	if (clean)
		json_string_set(value, clean);
	free(clean);
}

/* Returns the control characters that the text `key` of `value` may have. "lines" and the output of programs have some. An object is the
 * run of a program or function, with "output" as printed, if it has one of the members `runs`; other objects have a file name there. */
static const char *answer_kept(const json_t *value, const char *key)
{
	static const char *const runs[] = {"function", "made_by", "delivery"};

	if (strcmp(key, "lines") == 0)
		return "\t\n";
	for (size_t i = 0; i < sizeof(runs) / sizeof(*runs) && strcmp(key, "output") == 0; i++)
		if (json_object_get(value, runs[i]))
			return "\t\n";
	return "";
}

/* Texts of other users are printed on the terminal, so clean all texts of an answer. */
static void answer_clean(json_t *value, const char *kept)
{
	const char *key;
	json_t *member;
	size_t i;

	if (json_is_string(value))
		text_clean_json(value, kept);
	json_array_foreach (value, i, member)
		answer_clean(member, "");
	json_object_foreach (value, key, member)
		answer_clean(member, answer_kept(value, key));
}

/* Send a request and parse the answer: *answer is an answer or a refusal, `status` its HTTP status. */
static bool call_once(const struct conf *conf, const char *verb, json_t *request, json_t **answer, int *status, struct err *e)
{
	char *target = xasprintf("/v1/%s", verb), *body;
	json_error_t wrong;
	bool ok, plain = false;

	if (gate.stale && request)
		json_object_set_new(request, "stale_ok", json_true());
	body = request ? json_dumps(request, JSON_COMPACT) : xstrdup("{}");
	json_decref(request);
	if (!body)
		die("a request could not be written as JSON");
	free(gate.text);
	gate.text = NULL;
	ok = call_exchange(conf, target, body, status, &gate.text, e);
	gate.unavailable = !ok || *status == 503 || *status == 504;
	gate.status = gate.unavailable ? EXIT_NO_GATE : EXIT_REFUSED;
	*answer = ok ? rows_answer(gate.text, &plain) : NULL;
	plain = plain && *answer;
	if (ok && !*answer)
		*answer = json_loads(gate.text, JSON_DECODE_ANY, &wrong);
	if (!plain && strcmp(verb, "script") != 0)
		answer_clean(*answer, "");
	if (ok && !*answer && *status < 300)
		ok = err_set(e, "the answer of jobmgrd is not JSON: %s", wrong.text);
	free(body);
	free(target);
	return ok;
}

bool call_try(const struct conf *conf, const char *verb, json_t *request, json_t **answer, struct err *e)
{
	int status = 0;

	if (!call_once(conf, verb, request, answer, &status, e))
		return false;
	if (status < 300)
		return true;
	refusal(*answer, status, e);
	json_decref(*answer);
	*answer = NULL;
	return false;
}

struct http *call_upgrade(const struct conf *conf, const char *verb, json_t *request, const char *protocol, struct err *e)
{
	char *target = xasprintf("/v1/%s", verb), *body = json_dumps(request, JSON_COMPACT), *text = NULL;
	struct http *h;
	int status = 0;
	bool answered;

	if (!body)
		die("a request could not be written as JSON");
	h = http_open(conf, e);
	answered = h && http_upgrade(h, target, body, protocol, &status, &text, e);
	if (!answered || status != 101) {
		json_t *answer = answered ? json_loads(text, 0, NULL) : NULL;

		if (answered)
			refusal(answer, status, e);
		json_decref(answer);
		http_close(h);
		h = NULL;
	}
	if (answered)
		free(text);
	free(body);
	free(target);
	json_decref(request);
	return h;
}

/* Print the problems of a refused script, one line each as FILE:LINE: --option: message. */
static void problems_print(const json_t *problems)
{
	const json_t *p;
	size_t i;

	json_array_foreach (problems, i, p) {
		const char *file = json_string_value(json_object_get(p, "file"));
		const char *option = json_string_value(json_object_get(p, "option"));
		const char *message = json_string_value(json_object_get(p, "message"));
		const char *hint = json_string_value(json_object_get(p, "hint"));
		int line = (int)json_integer_value(json_object_get(p, "line"));

		if (line > 0)
			fprintf(stderr, "%s:%d: ", file ? file : "script", line);
		else
			fprintf(stderr, "%s: ", file ? file : "rota");
		if (option && option[0])
			fprintf(stderr, "%s%s: ", option[0] == '-' ? "" : "--", option);
		fprintf(stderr, "%s\n", message ? message : "refused");
		if (hint && hint[0])
			fprintf(stderr, "hint: %s\n", hint);
	}
}

/* Print the texts for the user that the site's script job_submit has written. */
static void texts_print(const json_t *answer)
{
	const json_t *job, *text;
	size_t i, j;

	json_array_foreach (json_object_get(answer, "messages"), i, text)
		fprintf(stderr, "rota: %s\n", json_string_value(text) ? json_string_value(text) : "");
	json_array_foreach (json_object_get(answer, "jobs"), i, job)
		json_array_foreach (json_object_get(job, "messages"), j, text)
			fprintf(stderr, "rota: %s\n", json_string_value(text) ? json_string_value(text) : "");
}

/* Store the member "stale" of an answer, its age, and print a message about it once. */
static void age_take(const json_t *answer)
{
	json_t *age = json_object_get(answer, "stale");
	const char *as_of = json_string_value(json_object_get(age, "as_of"));

	if (age && !gate.age && as_of)
		fprintf(stderr, "rota: no database can be written to: this is the state of %s, %.0f s ago\n", as_of,
			json_number_value(json_object_get(age, "age_s")));
	else if (age && !gate.age)
		fputs("rota: no database can be written to: this is an older state, of an unknown time\n", stderr);
	json_decref(gate.age);
	gate.age = json_incref(age);
}

/* Print an error as JSON in the form of the API. */
static void error_json_print(const struct err *e)
{
	json_t *said = json_pack("{s:{s:s, s:s, s:s?}}", "error", "code", e->code, "message", e->message, "hint",
				 e->hint[0] ? e->hint : NULL);

	if (said && !json_dumpf(said, stdout, JSON_COMPACT)) /* NULL if a name in the error is not UTF-8 */
		putchar('\n');
	json_decref(said);
}

int call_refuse(const struct err *e)
{
	struct err said = *e;

	if (!said.code[0])
		snprintf(said.code, sizeof(said.code), "RT422");
	if (gate.json)
		error_json_print(&said);
	call_error(e);
	return EXIT_REFUSED;
}

/* Print a refusal as JSON. A refusal of the HTTP library has a page of its own, which is converted to JSON too. */
static void refusal_json_print(const json_t *answer, int status)
{
	struct err e = {0};

	if (json_is_object(answer)) {
		call_print_json();
		return;
	}
	refusal(answer, status, &e);
	snprintf(e.code, sizeof(e.code), "RT%03u", (unsigned)status % 1000);
	error_json_print(&e);
}

/* Append to an error message for how many seconds rota has tried. */
static void tried_add(struct err *e, int64_t seconds)
{
	size_t end = strlen(e->message);

	snprintf(e->message + end, sizeof(e->message) - end, " (tried for %lld s)", (long long)seconds);
}

/* Print why a call failed after `seconds`: no answer (e), or a refusal. */
static void failure_print(const json_t *answer, int status, bool answered, int64_t seconds, struct err *e)
{
	const json_t *problems = json_object_get(json_object_get(answer, "error"), "problems");

	if (answered && gate.json)
		refusal_json_print(answer, status);
	if (answered && json_array_size(problems)) {
		problems_print(problems);
		return;
	}
	if (answered)
		refusal(answer, status, e);
	else if (!e->hint[0])
		err_hint(e, "Is the instance running? `rota up` starts it, `rota status` shows it.");
	if (gate.before_failure)
		gate.before_failure();
	if (gate.unavailable && seconds > 0)
		tried_add(e, seconds);
	call_error(e);
}

/* Print the reason why the request is tried again, and that the command waits. */
static void waiting_print(const json_t *answer, int status, bool answered)
{
	struct err e = {0};
	bool database;

	if (answered)
		refusal(answer, status, &e);
	database = strncmp(e.code, "08", 2) == 0; /* SQLSTATE class 08: no connection */
	fflush(stdout);
	fprintf(stderr, "rota: %s; trying again\n", database ? UNREACHABLE : answered ? e.message : "jobmgrd does not answer");
	gate.waited = true;
}

/* Send a request again and again until jobmgrd is available, with growing pauses, for up to `patience` seconds after the first
 * failure. */
static json_t *call_tries(const char *verb, json_t *request, int patience)
{
	int64_t failed = 0, left; /* time of the first failure, which may follow a long poll; milliseconds that are left since */
	bool said = false;

	for (int pause = 100;; pause = pause < 2000 ? pause * 2 : pause) {
		struct err e = {0};
		json_t *answer = NULL;
		int status = 0;
		bool answered = call_once(call_conf(), verb, json_incref(request), &answer, &status, &e);

		if (answered && status < 300) {
			texts_print(answer);
			age_take(answer);
			json_decref(request);
			return answer;
		}
		if (!failed)
			failed = clock_boot_us();
		left = patience * INT64_C(1000) - (clock_boot_us() - failed) / 1000;
		if (!gate.unavailable || left <= 0) {
			failure_print(answer, status, answered, (clock_boot_us() - failed) / 1000000, &e);
			json_decref(answer);
			json_decref(request);
			return NULL;
		}
		if (pause > left)
			pause = (int)left;
		if (!said && clock_boot_us() + pause * 1000 - failed > SILENT_US) {
			waiting_print(answer, status, answered);
			said = true;
		}
		json_decref(answer);
		process_rest(pause);
	}
}

bool call_waited(void)
{
	bool waited = gate.waited;

	gate.waited = false;
	return waited;
}

json_t *call_gate(const char *verb, json_t *request)
{
	return call_tries(verb, request, gate.stale ? STALE_PATIENCE : 0);
}

json_t *call_gate_patiently(const char *verb, json_t *request)
{
	return call_tries(verb, request, call_conf()->client_patience);
}

void call_print_json(void)
{
	size_t length = gate.text ? strlen(gate.text) : 0;

	if (length)
		fwrite(gate.text, 1, length, stdout);
	if (length && gate.text[length - 1] != '\n')
		putchar('\n');
}
