/* kind_refresh.c - asks token services by curl (kind_refresh.h).
 *
 * Called by: kind.c.
 * Invariants:
 * - URL and secrets are on curl's standard input, since other users can read the arguments of a process.
 * - curl follows no redirect, uses no proxy, and asks only URLs that kind_url_allowed() allows.
 * - The text of a service's refusal is shown to people, so it is repeated only if it has none of the secrets. */
#include "credmgr/kind/kind_refresh.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "credmgr/kind/kind_program.h"
#include "credmgr/kind/kind_token.h"
#include "credmgr/kind/kind_url.h"
#include "lib/text.h"

static const char *const REFRESH_SECRETS[] = {"access_token", "refresh_token", "client_secret"};

enum { REFRESH_SECRET_COUNT = sizeof REFRESH_SECRETS / sizeof *REFRESH_SECRETS, REFRESH_SECONDS = 3600 };

/* Write a member of `object` as a field of the form (application/x-www-form-urlencoded). */
static void refresh_write_member(FILE *out, const json_t *object, const char *name)
{
	const char *text = json_string_value(json_object_get(object, name));

	if (!text)
		return;
	fprintf(out, "&%s=", name);
	for (; *text; text++)
		fprintf(out, isalnum((unsigned char)*text) || strchr("-._~", *text) ? "%c" : "%%%02X", (unsigned char)*text);
}

static struct kind_secret refresh_form(const json_t *object)
{
	struct kind_secret form = {0};
	FILE *out = open_memstream(&form.bytes, &form.size);

	if (!out)
		die("out of memory");
	fputs("grant_type=refresh_token", out);
	refresh_write_member(out, object, "refresh_token");
	refresh_write_member(out, object, "client_id");
	refresh_write_member(out, object, "client_secret");
	if (fclose(out))
		die("out of memory");
	return form;
}

/* Returns the configuration of curl for a request, with all options and the body. max-time is only a safeguard: rota-credd kills
 * this process earlier. */
static struct kind_secret refresh_input(const json_t *object, const struct kind_options *options)
{
	struct kind_secret input = {0}, form = refresh_form(object);
	FILE *out = open_memstream(&input.bytes, &input.size);

	if (!out)
		die("out of memory");
	fprintf(out,
		"silent\nshow-error\ngloboff\npath-as-is\nrequest = \"POST\"\nproto = \"=%s\"\nmax-redirs = 0\nnoproxy = \"*\"\n"
		"max-time = %d\nmax-filesize = %d\nuser-agent = \"rota/%s\"\nheader = \"Accept: application/json\"\n"
		"header = \"Expect:\"\nwrite-out = \"\\n%%{http_code}\"\nurl = ",
		options->refresh_plain ? "http,https" : "https", REFRESH_SECONDS, KIND_MOST / 2, ROTA_VERSION);
	text_write_quoted(out, options->refresh_url);
	fputs("data-raw = ", out);
	text_write_quoted(out, form.bytes);
	if (fclose(out))
		die("out of memory");
	kind_secret_free(&form);
	return input;
}

/* Returns true if the text contains a secret of the stored object. */
static bool refresh_repeats_secret(const json_t *object, const char *text)
{
	for (int i = 0; i < REFRESH_SECRET_COUNT; i++) {
		const char *secret = json_string_value(json_object_get(object, REFRESH_SECRETS[i]));

		if (secret && strstr(text, secret))
			return true;
	}
	return false;
}

/* Make an error that says why the token service has refused: with its error code and description, if they are short and repeat
 * no secret. */
static bool refresh_refused(const json_t *object, const json_t *answer, int status, struct err *e)
{
	const char *code = json_string_value(json_object_get(answer, "error"));
	const char *more = json_string_value(json_object_get(answer, "error_description"));
	bool has_code = code && *code && strlen(code) <= 40 && strspn(code, "abcdefghijklmnopqrstuvwxyz_") == strlen(code) &&
			!refresh_repeats_secret(object, code);
	bool has_more = has_code && more && *more && strlen(more) <= 200 && !refresh_repeats_secret(object, more);

	if (!has_code)
		return err_set(e, "the token service answered with HTTP status %d", status);
	err_set(e, "the token service said: %s%s%s%s", code, has_more ? " (" : "", has_more ? more : "", has_more ? ")" : "");
	if (strcmp(code, "invalid_grant") == 0)
		strcpy(e->code, KIND_FINAL);
	return false;
}

static void refresh_move(json_t *object, const json_t *answer, const char *name)
{
	if (json_object_get(answer, name))
		json_object_set(object, name, json_object_get(answer, name));
}

/* Copy the tokens of a valid answer of the token service, and their expiry, into the stored object. */
static bool refresh_take(json_t *object, const json_t *answer, int64_t now, struct err *e)
{
	const char *type = json_string_value(json_object_get(answer, "token_type"));
	int64_t in = kind_token_seconds(json_object_get(answer, "expires_in"));

	for (int i = 0; i < 2; i++) { /* access_token, refresh_token */
		const json_t *value = json_object_get(answer, REFRESH_SECRETS[i]);
		const char *text = json_string_value(value) ? json_string_value(value) : "";

		if ((value || i == 0) && !kind_token_valid(text, json_string_length(value)))
			return err_set(e, "the token service answered without a good %s", REFRESH_SECRETS[i]);
	}
	if (type && strcasecmp(type, "bearer") != 0)
		return err_set(e, "the token service answered with a token that is no bearer token");
	refresh_move(object, answer, "access_token");
	refresh_move(object, answer, "refresh_token");
	json_object_del(object, "expires_in");
	json_object_del(object, "expires_at");
	if (in)
		json_object_set_new(object, "expires_at", json_integer(now + in));
	return true;
}

bool kind_refresh_answer(json_t *object, int status, const char *body, size_t size, int64_t now, struct err *e)
{
	json_t *answer = json_loadb(body, size, 0, NULL);
	bool good;

	if (status < 200 || status > 299)
		good = refresh_refused(object, answer, status, e);
	else if (!json_is_object(answer))
		good = err_set(e, "the token service answered with something that is no JSON object");
	else
		good = refresh_take(object, answer, now, e);
	json_decref(answer);
	return good;
}

/* Read the output of curl: the body of the answer, and the HTTP status on a line of its own. */
static bool refresh_read(struct kind_result *result, json_t *object, int64_t now, struct err *e)
{
	const char *reason = strstr(result->error, ") "); /* curl: (NUMBER) REASON */
	const char *last = memrchr(result->output.bytes, '\n', result->output.size);

	result->error[strcspn(result->error, "\n")] = '\0';
	if (WIFEXITED(result->status) && WEXITSTATUS(result->status) != 0)
		return err_set(e, "the token service could not be asked: %s", reason ? reason + 2 : result->error);
	if (!kind_program_good(result, "curl", e))
		return false;
	if (!last)
		return err_set(e, "curl did not print the HTTP status of the token service's answer");
	return kind_refresh_answer(object, atoi(last + 1), result->output.bytes, (size_t)(last - result->output.bytes), now, e);
}

/* Returns the environment of curl: only those variables of this process that name the certificate authorities. */
static char **refresh_environment(void)
{
	static const char *const names[] = {"CURL_CA_BUNDLE", "SSL_CERT_FILE", "SSL_CERT_DIR"};
	char **list = xcalloc(sizeof names / sizeof *names + 2, sizeof *list);
	size_t count = 0;

	list[count++] = xstrdup("PATH=/usr/bin:/bin");
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (getenv(names[i]))
			list[count++] = xasprintf("%s=%s", names[i], getenv(names[i]));
	return list;
}

static bool refresh_ask(json_t *object, const struct kind_options *options, struct err *e)
{
	char *arguments[] = {"curl", "-q", "-K", "-", NULL}, **environment = refresh_environment();
	struct kind_secret input = refresh_input(object, options);
	struct kind_program program = {.path = options->curl ? options->curl : "/usr/bin/curl",
				       .arguments = arguments,
				       .environment = environment,
				       .input = input.bytes,
				       .input_size = input.size,
				       .file = -1};
	struct kind_result result;
	bool good = kind_program_run(&program, &result, e) && refresh_read(&result, object, options->now, e);

	kind_program_free(&result);
	kind_secret_free(&input);
	for (char **variable = environment; *variable; variable++)
		free(*variable);
	free(environment);
	return good;
}

bool kind_refresh_renew(const struct kind_secret *secret, const struct kind_options *options, struct kind_secret *renewed,
			struct kind_facts *facts, struct err *e)
{
	json_t *object;
	bool good;

	if (!options->refresh_url)
		return err_set(e, "this token has no refresh URL, so it cannot be renewed; add it anew");
	object = kind_token_read(secret, e);
	good = object && kind_url_allowed(options->refresh_url, options->refresh_allowed, options->refresh_plain, e) &&
	       refresh_ask(object, options, e) && kind_token_facts(object, options->now, facts, e);
	if (good)
		*renewed = kind_token_store(object);
	json_decref(object);
	return good;
}
