/* trigger_start.c - starts the program that makes one delivery of a trigger, and reads its outcome.
 *
 * Called by: runner_trigger.c.
 * Invariants:
 * - Besides curl and the mail program, only files of hooks.trigger_folder are executed. The database cannot change them, so no
 *   row can have another program executed.
 * - URL, body and signature are on curl's standard input, since other users can read the arguments of a process.
 * - curl follows no redirect, uses no proxy and reads no file that the database names. */
#include "runner/trigger_start.h"

#include <jansson.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/crash.h"
#include "lib/db.h"
#include "lib/err.h"
#include "lib/mail.h"
#include "lib/rota.h"
#include "lib/seal.h"
#include "lib/text.h"
#include "runner/hook_environment.h"
#include "runner/mail_message.h"

static const char KIND_PROGRAM[] = "program", KIND_WEBHOOK[] = "webhook program", KIND_MAIL[] = "mail program";

static void trigger_sign(const char *secret, const char *body, char hex[SEAL_HEX_SIZE])
{
	unsigned char mac[SEAL_MAC_SIZE];
	size_t size = 0;

	if (!EVP_Q_mac(NULL, "HMAC", NULL, "SHA256", NULL, secret, strlen(secret), (const unsigned char *)body, strlen(body), mac,
		       sizeof mac, &size) ||
	    size != sizeof mac)
		die("HMAC-SHA-256 failed");
	seal_hex(mac, sizeof mac, hex);
}

/* Write the input of curl for a POST of `body` to `url`, signed with `secret`, into malloc'ed memory. */
static char *trigger_curl_input(const char *url, const char *body, const char *secret, const char *delivery, int timeout_s)
{
	char *text = NULL, signature[SEAL_HEX_SIZE];
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		die("out of memory");
	trigger_sign(secret, body, signature);
	fprintf(out,
		"silent\nshow-error\ngloboff\nrequest = \"POST\"\nproto = \"=http,https\"\nmax-redirs = 0\nnoproxy = \"*\"\n"
		"max-time = %d\nuser-agent = \"rota/%s\"\nheader = \"Content-Type: application/json\"\nheader = \"Expect:\"\n"
		"header = \"X-Rota-Signature: %s\"\nheader = \"X-Rota-Delivery: %s\"\nwrite-out = \"\\n%%{http_code}\"\nurl = ",
		timeout_s, ROTA_VERSION, signature, delivery);
	text_write_quoted(out, url);
	fputs("data-raw = ", out);
	text_write_quoted(out, body);
	if (fclose(out))
		die("out of memory");
	return text;
}

static bool trigger_start_webhook(struct hook *h, struct event_base *base, const struct conf *conf, const PGresult *result,
				  int row)
{
	static char *arguments[] = {"-q", "-K", "-", NULL};
	char *text =
		trigger_curl_input(db_text(result, row, "target"), db_text(result, row, "body"), db_text(result, row, "secret"),
				   db_text(result, row, "run_id"), conf->hooks_trigger_timeout);
	char **environment = hook_environment(NULL, 0, conf->instance_name);
	int input = hook_open_input(text);
	bool started = hook_start(h, base,
				  &(struct hook_start){.arguments = arguments,
						       .environment = environment,
						       .input = input,
						       .timeout_s = conf->hooks_trigger_timeout + 1});

	close(input);
	hook_environment_free(environment);
	free(text);
	return started;
}

static bool trigger_start_mail(struct hook *h, struct event_base *base, const struct conf *conf, const PGresult *result, int row)
{
	const char *target = db_text(result, row, "target"), *label = db_text(result, row, "label");
	char *subject = xasprintf("Rota %s%s%s", db_text(result, row, "event"),
				  db_is_null(result, row, "job_id") ? "" : " of job ", db_text(result, row, "job_id"));
	char *body = xasprintf("%s\n\n%s\n", label, db_text(result, row, "body"));
	char *key = xasprintf("trigger.%s", db_text(result, row, "run_id"));
	struct mail_message message = {.recipients = target,
				       .subject = subject,
				       .body = body,
				       .key = key,
				       .cluster = conf->instance_name,
				       .made_at = strtoll(db_text(result, row, "made_at"), NULL, 10)};
	char **recipients = mail_recipients(target), **arguments = mail_message_arguments(recipients);
	char **environment = hook_environment(NULL, 0, conf->instance_name), *text = mail_message_write(&message);
	int input = hook_open_input(text);
	bool started = hook_start(h, base,
				  &(struct hook_start){.arguments = arguments,
						       .environment = environment,
						       .input = input,
						       .timeout_s = conf->hooks_trigger_timeout});

	close(input);
	hook_environment_free(environment);
	free(text);
	free(arguments);
	mail_recipients_free(recipients);
	free(key);
	free(body);
	free(subject);
	return started;
}

/* Returns the environment of a trigger's program. */
static char **trigger_environment(const struct conf *conf, const PGresult *result, int row)
{
	static const struct {
		const char *name, *column;
	} VARIABLES[] = {
		{"ROTA_TRIGGER", "trigger_id"}, {"ROTA_DELIVERY", "run_id"}, {"ROTA_EVENT", "event"},
		{"ROTA_JOB_ID", "job_id"},	{"ROTA_STATE", "state"},     {"ROTA_NODE", "node"},
		{"ROTA_REASON", "reason"},	{"ROTA_USER", "user_name"},  {"ROTA_PAYLOAD", "body"},
	};
	enum { VARIABLE_COUNT = sizeof VARIABLES / sizeof *VARIABLES };
	char **list = hook_environment(NULL, 0, conf->instance_name);
	size_t at = 0;

	while (list[at])
		at++;
	list = xrealloc(list, (at + VARIABLE_COUNT + 1) * sizeof *list);
	for (int i = 0; i < VARIABLE_COUNT; i++)
		if (!db_is_null(result, row, VARIABLES[i].column))
			list[at++] = xasprintf("%s=%s", VARIABLES[i].name, db_text(result, row, VARIABLES[i].column));
	list[at] = NULL;
	return list;
}

/* Returns true if the program is a file directly in hooks.trigger_folder. */
static bool trigger_program_allowed(const struct conf *conf, const char *path)
{
	size_t size = strlen(conf->hooks_trigger_folder);

	return size && !strncmp(path, conf->hooks_trigger_folder, size) && path[size] == '/' && path[size + 1] &&
	       path[size + 1] != '.' && !strchr(path + size + 1, '/');
}

static bool trigger_start_program(struct hook *h, struct event_base *base, const struct conf *conf, const PGresult *result,
				  int row)
{
	json_t *list = json_loads(db_text(result, row, "arguments"), 0, NULL);
	char **environment = trigger_environment(conf, result, row);
	char **arguments = xcalloc(json_array_size(list) + 1, sizeof *arguments);
	bool started;

	for (size_t i = 0; i < json_array_size(list); i++)
		arguments[i] = (char *)json_string_value(json_array_get(list, i));
	started = hook_start(h, base,
			     &(struct hook_start){.arguments = arguments,
						  .environment = environment,
						  .input = -1,
						  .timeout_s = conf->hooks_trigger_timeout});
	free(arguments);
	hook_environment_free(environment);
	json_decref(list);
	return started;
}

struct hook *trigger_start(struct event_base *base, const struct conf *conf, const PGresult *result, int row)
{
	const char *action = db_text(result, row, "action"), *target = db_text(result, row, "target");
	bool webhook = !strcmp(action, "webhook"), mail = !strcmp(action, "mail");
	struct hook *h = hook_new(strtoll(db_text(result, row, "run_id"), NULL, 10), db_text(result, row, "label"),
				  webhook ? conf->hooks_webhook_program
				  : mail  ? conf->mail_program
					  : target,
				  webhook ? KIND_WEBHOOK
				  : mail  ? KIND_MAIL
					  : KIND_PROGRAM);
	struct err e;
	bool started = false;

	/* Check the recipients again, since the database is not trusted. */
	if (mail && !mail_recipients_valid(target, &e))
		snprintf(h->message, sizeof h->message, "not sent: %.400s", e.message);
	else if (mail)
		started = trigger_start_mail(h, base, conf, result, row);
	else if (webhook)
		started = trigger_start_webhook(h, base, conf, result, row);
	else if (!trigger_program_allowed(conf, target))
		snprintf(h->message, sizeof h->message, "program \"%.300s\" is not in the folder hooks.trigger_folder", target);
	else
		started = trigger_start_program(h, base, conf, result, row);
	if (started)
		crash_point(CRASH_trigger_started);
	return h;
}

char *trigger_outcome(const struct hook *h, int *code)
{
	const char *last = strrchr(h->tail, '\n');

	*code = h->ran_us >= 0 && WIFEXITED(h->status) ? WEXITSTATUS(h->status) : -1;
	if (*h->message) {
		*code = h->kind == KIND_WEBHOOK ? -1 : *code;
		return xasprintf("%s%s%s", h->message, *h->tail ? ": " : "", h->tail);
	}
	if (h->kind != KIND_WEBHOOK)
		return NULL;
	*code = last ? atoi(last + 1) : -1;
	return *code >= 200 && *code <= 299 ? NULL : xasprintf("the server answered with HTTP status %d", *code);
}
