/* cred.c - `rota cred`: adds, lists, shows, refreshes, grants and removes credentials, which steps get with --cred=NAME, and
 * forecasts which steps will end after their credentials expire. */
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bin/rota/call/call.h"
#include "bin/rota/call/upload.h"
#include "bin/rota/line/verb.h"
#include "bin/rota/line/words.h"
#include "bin/rota/print/format.h"
#include "bin/rota/print/table.h"
#include "jobmgr/translate/option.h"
#include "lib/credential.h"
#include "lib/err.h"
#include "lib/text.h"

enum { CRED_REFRESH_URL = 256, CRED_COMMAND, CRED_EXPIRES, CRED_ALL, CRED_TO, CRED_UNTIL, CRED_REVOKE };

const struct verb_option cred_options[] = {
	{'k', "kind", "KIND", "krb5, token, ssh-key, x509, file or command (default: the name)"},
	{CRED_REFRESH_URL, "refresh-url", "URL", "of a token: URL of the service that renews it by OAuth2"},
	{CRED_COMMAND, "command", "NAME", "of kind command: program of the site that makes the credential"},
	{CRED_EXPIRES, "expires", "SECONDS", "of a file or token: seconds from now until it expires"},
	{CRED_TO, "to", "USER", "of grant: user who may use the credential as OWNER/NAME"},
	{CRED_UNTIL, "until", "TIME", "of grant: end of the grant (default: until it is revoked)"},
	{CRED_REVOKE, "revoke", NULL, "of grant: USER may not use the credential any more; without --to, no other user may"},
	{'u', "user", "USER", "credentials of this user (operators)"},
	{CRED_ALL, "all", NULL, "credentials of all users (operators)"},
	{'w', "wide", NULL, "do not shorten columns to fit the terminal"},
	VERB_OPTION_JSON,
	{0, NULL, NULL, NULL},
};

/* The command line of `rota cred`. */
struct cred_line {
	json_t *request;
	const char *path; /* file with the secret; NULL: the default file of the kind of credential */
	bool wide, json;
};

/* Returns the value of --until in seconds since 1970; 0: none. */
static json_t *line_until(const struct verb_scan *scan)
{
	struct option_context context = {.now = time(NULL)};
	struct err e = {0};
	json_t *until = option_value(option_row(OPTION_ID_BEGIN), scan->value, &context, &e);

	if (!until)
		verb_misuse(scan->verb, "--until: %s; %s", e.message, e.hint);
	return json_is_null(until) ? json_integer(0) : until;
}

static void line_read(struct verb_scan *scan, struct cred_line *line)
{
	static const struct words_member members[] = {
		{'k', "kind", WORDS_TEXT},     {CRED_REFRESH_URL, "refresh_url", WORDS_TEXT},
		{'u', "user", WORDS_TEXT},     {CRED_COMMAND, "command", WORDS_TEXT},
		{CRED_TO, "to", WORDS_TEXT},   {CRED_REVOKE, "revoke", WORDS_TRUE},
		{CRED_ALL, "all", WORDS_TRUE}, {0, NULL, WORDS_TEXT},
	};

	for (int id; (id = verb_next(scan));) {
		if (words_member_set(scan, id, members, line->request))
			continue;
		if (id == CRED_EXPIRES)
			json_object_set_new(line->request, "expires",
					    json_integer((json_int_t)time(NULL) + verb_number(scan, 1, 999999999)));
		else if (id == CRED_UNTIL)
			json_object_set_new(line->request, "until_s", line_until(scan));
		line->wide |= id == 'w';
		line->json |= id == VERB_JSON;
	}
}

/* Read the operands: the action, the name, and of "add" the file. */
static const char *line_operands(struct verb_scan *scan, struct cred_line *line)
{
	static const char *const actions[] = {"add", "list", "show", "forecast", "refresh", "remove", "test", "grant", "default"};
	const char *action = scan->operands ? scan->argv[scan->at] : "list";
	bool add = !strcmp(action, "add"), list = !strcmp(action, "list") || !strcmp(action, "forecast");
	bool is_default = !strcmp(action, "default");
	enum credential_kind kind;
	size_t i = 0;

	while (i < sizeof actions / sizeof *actions && strcmp(action, actions[i]) != 0)
		i++;
	if (i == sizeof actions / sizeof *actions)
		verb_misuse(scan->verb, "\"%s\" is no action: add, list, show, forecast, refresh, test, grant, default or remove",
			    action);
	verb_operands(scan, list ? 0 : is_default ? 1 : 2, list ? 1 : add ? 3 : 2);
	if (strcmp(action, "grant") != 0)
		json_object_set_new(line->request, "action", json_string(action));
	if (list || scan->operands < 2)
		return action;
	scan->value = scan->argv[scan->at + 1];
	json_object_set_new(line->request, is_default ? "names" : "name", words_text(scan));
	line->path = scan->operands > 2 ? scan->argv[scan->at + 2] : NULL;
	if (add && !json_object_get(line->request, "kind")) {
		if (!credential_kind_read(scan->value, &kind))
			verb_misuse(scan->verb, "say of which kind it is: rota cred add %s --kind=KIND", scan->value);
		json_object_set_new(line->request, "kind", json_string(scan->value));
	}
	return action;
}

/* Returns the state of a credential in a word or two: "dead", "not renewed", "renewable" or "good". */
static const char *credential_state(const json_t *credential)
{
	if (*format_text(credential, "objection"))
		return "dead";
	if (*format_text(credential, "failure"))
		return "not renewed";
	return json_is_true(json_object_get(credential, "renewable")) ? "renewable" : "good";
}

static void credentials_print(const json_t *credentials, bool wide)
{
	static const struct table_column COLUMNS[] = {
		{"NAME", false, 0},    {"KIND", false, 0},  {"USER", false, 6},	   {"SUBJECT", false, 12},
		{"EXPIRES", false, 0}, {"STATE", false, 0}, {"RENEWALS", true, 0},
	};
	struct table *table = table_new(COLUMNS, sizeof(COLUMNS) / sizeof(COLUMNS[0]));
	const json_t *credential;
	size_t i;

	json_array_foreach (credentials, i, credential) {
		const json_t *expires = json_object_get(credential, "expires_at");

		table_cell(table, format_text(credential, "name"));
		table_cell(table, format_text(credential, "kind"));
		table_cell(table, format_text(credential, "user"));
		table_cell(table, format_text(credential, "subject"));
		table_cell(table, json_is_string(expires) ? format_time(expires).s : "never");
		table_cell(table, credential_state(credential));
		table_cell(table, format_count(json_object_get(credential, "renewals")).s);
	}
	table_print(table, stdout, wide);
	table_free(table);
}

/* Print one line "  What        text", if there is a text. */
static void fact_print(const char *what, const char *text)
{
	if (*text)
		printf("  %-12s%s\n", what, text);
}

static void time_print(const char *what, const json_t *credential, const char *key)
{
	const json_t *time = json_object_get(credential, key);

	if (json_is_string(time))
		fact_print(what, format_time(time).s);
}

static void grants_print(const json_t *grants)
{
	const json_t *grant;
	size_t i;

	json_array_foreach (grants, i, grant) {
		const json_t *until = json_object_get(grant, "until");

		printf("  %-12s%s%s%s\n", "Granted to", format_text(grant, "to"), json_is_string(until) ? ", until " : "",
		       json_is_string(until) ? format_time(until).s : "");
	}
}

static void uses_print(const json_t *uses)
{
	static const struct table_column COLUMNS[] = {
		{"STEP", false, 0}, {"NODE", false, 0}, {"SINCE", false, 0}, {"UNTIL", false, 0}, {"VERSION", true, 0},
	};
	struct table *table = table_new(COLUMNS, sizeof(COLUMNS) / sizeof(COLUMNS[0]));
	const json_t *use;
	size_t i;

	json_array_foreach (uses, i, use) {
		const json_t *gone = json_object_get(use, "gone_at"), *removed = json_object_get(use, "removed_at");
		const json_t *end = json_is_string(removed) ? removed : gone;
		char step[64];

		snprintf(step, sizeof step, "%lld.%lld.%lld", (long long)json_integer_value(json_object_get(use, "job_id")),
			 (long long)json_integer_value(json_object_get(use, "step_id")),
			 (long long)json_integer_value(json_object_get(use, "attempt")));
		table_cell(table, step);
		table_cell(table, format_text(use, "node"));
		table_cell(table, format_time(json_object_get(use, "ordered_at")).s);
		table_cell(table, json_is_string(end) ? format_time(end).s : "has it");
		table_cell(table, format_count(json_object_get(use, "version")).s);
	}
	table_print(table, stdout, false);
	table_free(table);
}

static void credential_print(const json_t *credential)
{
	printf("credential %s: %s\n", format_text(credential, "name"), credential_state(credential));
	fact_print("Kind", format_text(credential, "kind"));
	fact_print("Owner", format_text(credential, "user"));
	fact_print("Subject", format_text(credential, "subject"));
	fact_print("Version", format_count(json_object_get(credential, "version")).s);
	time_print("Added", credential, "made_at");
	time_print("Changed", credential, "changed_at");
	time_print("Expires", credential, "expires_at");
	time_print("Renew until", credential, "renew_until");
	time_print("Renewed", credential, "renewed_at");
	fact_print("Refresh URL", format_text(credential, "refresh_url"));
	fact_print("Command", format_text(credential, "command"));
	fact_print("Failure", format_text(credential, "failure"));
	fact_print("Steps wait", format_text(credential, "objection"));
	grants_print(json_object_get(credential, "grants"));
	if (json_array_size(json_object_get(credential, "uses"))) {
		putchar('\n');
		uses_print(json_object_get(credential, "uses"));
	}
}

/* Print the number of steps in the forecast. Its first row is the step whose credential ends first. */
static void forecast_sum_print(const json_t *forecast)
{
	size_t count = json_array_size(forecast);

	if (count == 0) {
		printf("No step needs a credential for longer than it lives or can be renewed.\n");
		return;
	}
	printf("\n%zu step%s may need a credential for longer than it lives or can be renewed, the first from %s on.\n", count,
	       text_plural((int64_t)count), format_time(json_object_get(json_array_get(forecast, 0), "lives_until")).s);
	printf("Add it anew before: rota cred add NAME. Steps that start later are held until then.\n");
}

static void forecast_print(const json_t *forecast)
{
	static const struct table_column COLUMNS[] = {
		{"STEP", false, 0},	   {"USER", false, 6},	 {"CREDENTIAL", false, 0},
		{"LIVES UNTIL", false, 0}, {"STARTS", false, 0}, {"NEEDED UNTIL", false, 0},
	};
	struct table *table = table_new(COLUMNS, sizeof(COLUMNS) / sizeof(COLUMNS[0]));
	const json_t *step;
	size_t i;

	json_array_foreach (forecast, i, step) {
		const json_t *from = json_object_get(step, "from"), *until = json_object_get(step, "until");

		table_cell(table, format_text(step, "step"));
		table_cell(table, format_text(step, "user"));
		table_cell(table, format_text(step, "name"));
		table_cell(table, format_time(json_object_get(step, "lives_until")).s);
		table_cell(table, json_is_string(from) ? format_time(from).s : "unknown");
		table_cell(table, json_is_string(until) ? format_time(until).s : "unknown");
	}
	if (json_array_size(forecast) > 0)
		table_print(table, stdout, false);
	table_free(table);
	forecast_sum_print(forecast);
}

static void test_print(const json_t *test)
{
	const char *asked = format_text(test, "asked");

	printf("credential %s: of use\n", format_text(test, "name"));
	fact_print("Kind", format_text(test, "kind"));
	fact_print("Subject", format_text(test, "subject"));
	fact_print("Version", format_count(json_object_get(test, "version")).s);
	time_print("Expires", test, "expires_at");
	fact_print("Asked", *asked ? asked : "nobody; it was opened and read");
}

static void answer_print(const char *action, const json_t *answer, bool wide)
{
	if (!strcmp(action, "list"))
		credentials_print(json_object_get(answer, "credentials"), wide);
	else if (!strcmp(action, "forecast"))
		forecast_print(json_object_get(answer, "forecast"));
	else if (!strcmp(action, "add") || !strcmp(action, "show"))
		credential_print(answer);
	else if (!strcmp(action, "test"))
		test_print(answer);
	else if (!strcmp(action, "default"))
		printf("%s\n", json_is_string(json_object_get(answer, "default")) ? format_text(answer, "default") : "unset");
	else
		printf("credential %s: %s%s%s\n", format_text(answer, "name"), format_text(answer, "action"),
		       *format_text(answer, "to") ? " to " : "", format_text(answer, "to"));
}

/* Add to the request the user id ("to_uid") of the user to whom the credential is granted ("to"). */
static bool grant_find_user(json_t *request, struct err *e)
{
	const char *name = json_string_value(json_object_get(request, "to"));
	const struct passwd *user = name ? getpwnam(name) : NULL;

	if (json_is_true(json_object_get(request, "revoke")))
		return true;
	if (!name)
		return err_set(e, "say to whom: rota cred grant NAME --to USER");
	if (!user)
		return err_set(e, "--to: there is no user \"%.100s\"", name);
	json_object_set_new(request, "to_uid", json_integer(user->pw_uid));
	return true;
}

/* Request that rota-credd tests a credential, wait for the result and print it. */
static json_t *cred_test(json_t *request, int *status)
{
	json_t *answer = call_gate("credentials", request), *result;

	if (!answer) {
		*status = call_status();
		return NULL;
	}
	*status = EXIT_OK;
	result = upload_wait("test", json_integer_value(json_object_get(answer, "test")), status);
	json_decref(answer);
	return result;
}

static json_t *cred_grant(json_t *request, int *status)
{
	struct err e = {0};
	json_t *answer;

	if (!grant_find_user(request, &e)) {
		json_decref(request);
		*status = call_refuse(&e);
		return NULL;
	}
	answer = call_gate("credential_grant", request);
	*status = answer ? EXIT_OK : call_status();
	return answer;
}

int verb_cred(const struct verb *verb, int argc, char **argv)
{
	struct verb_scan scan = VERB_SCAN(verb, argc, argv);
	struct cred_line line = {.request = json_object()};
	const char *action;
	json_t *answer;
	int status = EXIT_OK;

	line_read(&scan, &line);
	action = line_operands(&scan, &line);
	if (!strcmp(action, "add")) {
		answer = upload_credential(line.request, line.path, &status);
	} else if (!strcmp(action, "test")) {
		answer = cred_test(line.request, &status);
	} else if (!strcmp(action, "grant")) {
		answer = cred_grant(line.request, &status);
	} else {
		answer = call_gate("credentials", line.request);
		status = answer ? EXIT_OK : call_status();
	}
	if (answer && line.json)
		call_print_json();
	else if (answer)
		answer_print(action, answer, line.wide);
	json_decref(answer);
	return status;
}
