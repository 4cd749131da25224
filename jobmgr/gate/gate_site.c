/* gate_site.c - has the site's scripts judge a job: sends a question to runnerd, and handles the answer or the refusal.
 *
 * Called by: gate_submit.c, gate_modify.c, if hooks.job_submit is set; gate_submit.c for jobs with directives for burst_buffer.
 * Invariants:
 * - While a question is under way, the hook client has the next move (gate_call.h).
 * - A job that the script refused is not stored, nor one that it could not judge, unless hooks.broken is "accept". burst_buffer
 *   must always accept the job. */
#include "jobmgr/gate/gate_site.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jobmgr/gate/gate_answer.h"
#include "jobmgr/site/site_desc.h"
#include "jobmgr/site/site_error.h"
#include "lib/hook_call.h"
#include "lib/log.h"
#include "lib/text.h"

enum {
	SITE_TEXTS_MOST = 50,
	SITE_TEXT_LONGEST = 1000,
	SITE_REASON_LONGEST = 350,
	SITE_REQUEST_MOST = HOOK_CALL_MOST - 4096,
	SITE_SCRIPT_MOST = 128 * 1024
};

/* Name of the job's script for functions of burst_buffer. There is no such file: the functions' io module has its text. */
#define SITE_SCRIPT_NAME "job_script"

/* A question to a script of the site that is under way. */
struct gate_question {
	gate_site_handler *then;
	const char *script; /* "job_submit" or "burst_buffer" */
	bool has_label;
	char label[];
};

bool gate_site_is_set(const struct gate_server *server)
{
	return *server->conf->hooks_job_submit != '\0';
}

/* Returns one line of a text, without control characters; malloc'ed. */
static char *site_clean_line(const char *text, size_t length)
{
	char *line = xstrndup(text, length);

	text_cut(line, SITE_TEXT_LONGEST);
	text_clean(line);
	for (char *c = line; (c = strpbrk(c, "\t\n"));)
		*c = ' ';
	return line;
}

/* Returns the texts of the script for the user, one for each line. */
static json_t *site_read_texts(const json_t *answer)
{
	json_t *texts = json_array();
	const json_t *text;
	size_t i;

	json_array_foreach (json_object_get(answer, "user"), i, text) {
		for (const char *line = json_string_value(text); line && json_array_size(texts) < SITE_TEXTS_MOST;) {
			const char *end = strchrnul(line, '\n');
			char *clean = site_clean_line(line, (size_t)(end - line));

			json_array_append_new(texts, json_string(clean));
			free(clean);
			line = *end ? end + 1 : NULL;
		}
	}
	return texts;
}

/* Write what the script has logged to the log of jobmgrd. */
static void site_log(const char *script, const json_t *answer)
{
	const json_t *entry;
	size_t i;

	json_array_foreach (json_object_get(answer, "log"), i, entry) {
		const char *text = json_string_value(json_object_get(entry, "text"));
		const char *level = json_string_value(json_object_get(entry, "level"));
		char *line = site_clean_line(text ? text : "", text ? strlen(text) : 0);

		if (level && strcmp(level, "error") == 0)
			log_error("%s: %s", script, line);
		else if (level && strcmp(level, "info") == 0)
			log_info("%s: %s", script, line);
		else
			log_debug("%s: %s", script, line);
		free(line);
	}
}

static void site_add_problem(json_t *problems, const char *label, const char *message)
{
	json_array_append_new(problems, json_pack("{s:s?, s:i, s:s, s:s, s:n}", "file", label, "line", 0, "option", "", "message",
						  message, "hint"));
}

/* Returns the script's reason for refusing a job, malloc'ed. */
static char *site_make_reason(const json_t *answer)
{
	const char *message = json_string_value(json_object_get(answer, "message"));
	char *line = message && *message ? site_clean_line(message, strlen(message)) : NULL, *reason;

	if (line)
		text_cut(line, SITE_REASON_LONGEST);
	reason = xasprintf("refused by the site's script: %s",
			   line ? line : site_error_text(json_integer_value(json_object_get(answer, "rc"))));
	free(line);
	return reason;
}

/* End the call with the script's refusal: first its texts for the user, then its reason. */
static void site_refuse(struct gate_call *c, const char *label, const json_t *answer, const json_t *texts)
{
	char *reason = site_make_reason(answer);
	json_t *problems = json_array();
	const json_t *text;
	struct err e;
	size_t i;

	json_array_foreach (texts, i, text)
		site_add_problem(problems, label, json_string_value(text));
	site_add_problem(problems, label, reason);
	gate_refuse(&e, "RT403", "%.100s%s%s", label ? label : "", label ? ": " : "", reason);
	free(reason);
	gate_call_fail(c, &e, problems);
}

/* The script could not judge a job: end the call with an error, or accept the job as it is, as hooks.broken says. */
static void site_fail(struct gate_call *c, const struct gate_question *question, const struct err *failure)
{
	struct err e;
	json_t *texts;

	if (strcmp(question->script, "job_submit") == 0 && strcmp(c->server->conf->hooks_broken, "accept") == 0) {
		log_warning("accepted a job of uid %u without the site's script job_submit: %s", (unsigned)c->credential->uid,
			    failure->message);
		texts = json_array();
		question->then(c, NULL, texts);
		json_decref(texts);
		return;
	}
	log_error("refused a job of uid %u, since the site's script %s could not be asked: %s", (unsigned)c->credential->uid,
		  question->script, failure->message);
	/* RT503 has clients try again: runnerd may be back soon. */
	gate_refuse(&e, *failure->code ? failure->code : "RT503", "the site's script %s could not be asked: %.400s",
		    question->script, failure->message);
	err_hint(&e, "Nothing was done. Tell your site's administrators.");
	gate_call_fail(c, &e, NULL);
}

static void site_answered(const json_t *answer, const struct err *failure, void *arg)
{
	struct gate_call *c = arg;
	struct gate_question *question = c->question;
	json_t *texts;

	c->question = NULL;
	if (!c->http) {
		gate_call_abandon(c);
	} else if (failure) {
		site_fail(c, question, failure);
	} else {
		texts = site_read_texts(answer);
		site_log(question->script, answer);
		if (json_integer_value(json_object_get(answer, "rc")) != 0)
			site_refuse(c, question->has_label ? question->label : NULL, answer, texts);
		else
			question->then(c, json_object_get(answer, "changes"), texts);
		json_decref(texts);
	}
	free(question);
}

/* Send a question to the site's script. Frees the question's body. */
static void site_send(struct gate_call *c, const char *script, const char *function, json_t *body, const char *label,
		      gate_site_handler *then)
{
	char *text = json_dumps(body, JSON_COMPACT);
	struct err e;

	if (!text)
		die("could not write a question to the site's script");
	/* A job that is too large to be judged must not pass, whatever hooks.broken says. */
	if (strlen(text) > SITE_REQUEST_MOST) {
		gate_refuse(&e, "RT413",
			    "%s%sscript, arguments and environment are larger than the site's script may read (%d KiB)",
			    label ? label : "", label ? ": " : "", SITE_REQUEST_MOST >> 10);
		err_hint(&e, "Keep data in files that the script reads.");
		gate_call_fail(c, &e, NULL);
	} else {
		c->question = xcalloc(1, sizeof *c->question + (label ? strlen(label) : 0) + 1);
		c->question->then = then;
		c->question->script = script;
		c->question->has_label = label;
		strcpy(c->question->label, label ? label : "");
		hook_call(c->server->hooks, &(struct hook_request){.script = script, .function = function, .body = text},
			  site_answered, c);
	}
	free(text);
	json_decref(body);
}

void gate_site_ask(struct gate_call *c, const char *function, const json_t *desc, const json_t *rec, const char *label,
		   gate_site_handler *then)
{
	json_t *body =
		json_pack("{s:O, s:O*, s:o, s:I, s:O*}", "desc", desc, "qos", json_object_get(c->server->limits->facts, "qos"),
			  "parts", site_parts(c->server->limits->facts, c->credential->user, c->credential->groups), "uid",
			  (json_int_t)c->credential->uid, "rec", rec);

	site_send(c, "job_submit", function, body, label, then);
}

/* Returns a job's script as functions of burst_buffer read it: the directives of --bb come after its first line, and a long
 * script is cut; malloc'ed. */
static char *site_staged_script(const char *script, const char *inserted)
{
	size_t head = strcspn(script, "\n"), length = strlen(script);
	char *whole;

	head += script[head] == '\n';
	if (length > SITE_SCRIPT_MOST) {
		length = SITE_SCRIPT_MOST;
		while (length > head && script[length] != '\n')
			length--;
	}
	whole = xasprintf("%.*s%s%s%s%.*s", (int)head, script, head > 0 && script[head - 1] != '\n' ? "\n" : "",
			  inserted ? inserted : "", inserted ? "\n" : "", (int)(length - head), script + head);
	return whole;
}

void gate_site_ask_staging(struct gate_call *c, const json_t *script, const json_t *plan, const char *label,
			   gate_site_handler *then)
{
	const struct gate_credential *who = c->credential;
	const json_t *job = json_object_get(plan, "job"), *staging = json_object_get(job, "staging");
	char *text = site_staged_script(json_string_value(script), json_string_value(json_object_get(staging, "inserted")));
	char uid[16], gid[16];
	json_t *info;

	snprintf(uid, sizeof uid, "%u", (unsigned)who->uid);
	snprintf(gid, sizeof gid, "%u", (unsigned)who->gid);
	info = json_pack("{s:I, s:I, s:s, s:O?, s:O?, s:O?, s:O?}", "user_id", (json_int_t)who->uid, "group_id",
			 (json_int_t)who->gid, "user_name", who->user, "name", json_object_get(job, "name"), "account",
			 json_object_get(job, "account"), "work_dir", json_object_get(job, "workdir"), "burst_buffer",
			 json_object_get(staging, "directives"));
	site_send(c, "burst_buffer", "slurm_bb_job_process",
		  json_pack("{s:[s,s,s], s:o, s:O*, s:{s:s}}", "args", SITE_SCRIPT_NAME, uid, gid, "job_info", info, "qos",
			    json_object_get(c->server->limits->facts, "qos"), "files", SITE_SCRIPT_NAME, text),
		  label, then);
	free(text);
}

void gate_site_add_texts(json_t **list, const json_t *texts)
{
	if (json_array_size(texts) == 0)
		return;
	if (!*list)
		*list = json_array();
	json_array_extend(*list, (json_t *)texts);
}

void gate_site_explain(const char *names, struct err *e)
{
	struct err before = *e;

	if (names)
		err_hint(e, "%.150s%sThe site's script set: %.80s.", before.hint, *before.hint ? " " : "", names);
}
