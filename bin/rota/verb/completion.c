/* completion.c - `rota completion`: prints the bash completion, made from the tables of the verbs, and the words that it offers.
 *
 * Called by: users, who source the script; the script, for words.
 * Invariants:
 * - The shell never expands words from the database: the script compares them literally, and words with special characters are not
 *   offered. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bin/rota/admin/admin.h"
#include "bin/rota/call/call.h"
#include "bin/rota/embed.h"
#include "bin/rota/print/format.h"
#include "bin/rota/line/verb.h"
#include "jobmgr/translate/option.h"

enum { MOST_JOBS = 100 };

const struct verb_option completion_options[] = {
	{0, NULL, NULL, NULL},
};

/* Print the text up to the line `line`, without this line. Returns the text after it. */
static const char *completion_print_until(const char *text, const char *line)
{
	const char *at = strstr(text, line);

	if (!at)
		die("completion.bash has no line \"%.*s\"", (int)strcspn(line, "\n"), line);
	fwrite(text, 1, (size_t)(at - text), stdout);
	return at + strlen(line);
}

/* Print the options of a table: --name, followed by = if the option takes a value, and -x. */
static void options_print(const struct verb_option *options)
{
	for (; options && options->id; options++) {
		if (options->name)
			printf(" --%s%s", options->name, options->value && options->value[0] != '[' ? "=" : "");
		if (options->id < 256)
			printf(" -%c", options->id);
	}
}

/* Returns the kind of words that an option takes as its value, NULL if the value cannot be completed. */
static const char *option_kind(const struct verb_option *option)
{
	static const struct {
		const char *name, *kind;
	} kinds[] = {
		{"partition", "partition"}, {"state", "state"},	     {"states", "state"},
		{"node", "node"},	    {"nodelist", "node"},    {"exclude", "node"},
		{"after", "job"},	    {"output", "file"},	     {"error", "file"},
		{"input", "file"},	    {"account", "account"},  {"qos", "qos"},
		{"licenses", "license"},    {"licences", "license"}, {"reservation", "reservation"},
		{"workdir", "file"},	    {"prolog", "file"},	     {"epilog", "file"},
		{"mail-type", "event"},	    {"signal", "signal"},
	};

	if (!option->value)
		return NULL;
	if (!strcmp(option->value, "FILE") || !strcmp(option->value, "DIR"))
		return "file";
	if (strchr(option->value, '|') && !option->value[strspn(option->value, "abcdefghijklmnopqrstuvwxyz|")])
		return option->value;
	for (size_t i = 0; option->name && i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(option->name, kinds[i].name))
			return kinds[i].kind;
	return NULL;
}

static void values_print(const struct verb_option *options)
{
	for (; options && options->id; options++) {
		const char *kind = option_kind(options);

		if (kind && options->name)
			printf(" --%s:%s", options->name, kind);
		if (kind && options->id < 256)
			printf(" -%c:%s", options->id, kind);
	}
}

/* Print the case of a verb in the bash completion. */
static void verb_print(const struct verb *v)
{
	printf("\t\t%s) operands='%s' options='", v->name, v->completes);
	options_print(v->options);
	options_print(VERB_COMMON);
	fputs("' values='", stdout);
	values_print(v->options);
	values_print(VERB_COMMON);
	puts("' ;;");
}

/* Print the case of an object of `rota admin` in the bash completion. */
static void object_print(const struct admin_object *o)
{
	printf("\t\t3:%s) operands='", o->name);
	for (const char *const *action = o->actions; *action; action++)
		printf("%s%s", action == o->actions ? "" : " ", *action);
	puts("' ;;");
}

static void bash_print(void)
{
	const char *rest = completion_print_until(EMBED_COMPLETION[0].text, "# VERBS\n");

	for (const struct verb *v = verb_table(); v->name; v++)
		verb_print(v);
	rest = completion_print_until(rest, "# OBJECTS\n");
	for (const struct admin_object *o = ADMIN_OBJECTS; o->name; o++)
		object_print(o);
	fputs(rest, stdout);
}

/* Returns true if the word has no characters that are special in a shell. */
static bool is_plain(const char *word)
{
	return word[0] && word[strspn(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.+@-")] == '\0';
}

/* Print a member of each row of a list, one on each line, with `head` in front. */
static void rows_print(const json_t *list, const char *key, const char *head)
{
	const json_t *row;
	size_t i;

	json_array_foreach (list, i, row) {
		const json_t *value = json_object_get(row, key);
		struct word number = format_count(value);
		const char *word = json_is_string(value) ? json_string_value(value) : number.s;

		if (is_plain(word))
			printf("%s%s\n", head, word);
	}
}

/* Request a list from jobmgrd and print a member of each row, one on each line. Prints no error. */
static int list_print(const char *verb, json_t *request, const char *list, const char *key)
{
	struct err e = {0};
	json_t *answer = NULL;

	if (!call_try(call_conf(), verb, request, &answer, &e))
		return call_status();
	rows_print(json_object_get(answer, list), key, "");
	json_decref(answer);
	return EXIT_OK;
}

/* Print JOB.NAME of each step of a job. */
static int steps_print(const char *job)
{
	struct err e = {0};
	json_t *answer = NULL;
	char *head;

	if (!call_try(call_conf(), "show", json_pack("{s[s]}", "jobs", job), &answer, &e))
		return call_status();
	head = xasprintf("%s.", job);
	rows_print(json_object_get(json_array_get(json_object_get(answer, "jobs"), 0), "steps"), "name", head);
	free(head);
	json_decref(answer);
	return EXIT_OK;
}

/* Print the names of a kind that a submission may have. */
static int names_print(const char *kind)
{
	struct err e = {0};
	json_t *answer = NULL;
	const json_t *name;
	size_t i;

	if (!call_try(call_conf(), "shares", NULL, &answer, &e))
		return call_status();
	json_array_foreach (json_object_get(json_object_get(answer, "names"), kind), i, name)
		if (is_plain(json_string_value(name)))
			puts(json_string_value(name));
	json_decref(answer);
	return EXIT_OK;
}

static void signals_print(void)
{
	for (int i = 1; i < NSIG; i++)
		if (sigabbrev_np(i))
			puts(sigabbrev_np(i));
}

/* Print the words of a kind that verbs.def or option_kind() names. */
static int words_print(const struct verb_scan *scan, const char *what)
{
	if (!strcmp(what, "job"))
		return list_print("queue", NULL, "jobs", "job_id");
	if (!strcmp(what, "past")) /* also jobs that have ended */
		return list_print("queue", json_pack("{sb si}", "all", 1, "limit", MOST_JOBS), "jobs", "job_id");
	if (!strcmp(what, "node"))
		return list_print("nodes", NULL, "nodes", "name");
	if (!strcmp(what, "partition"))
		return list_print("partitions", NULL, "partitions", "name");
	if (!strcmp(what, "reservation"))
		return list_print("reservations", NULL, "reservations", "name");
	if (!strcmp(what, "account") || !strcmp(what, "qos") || !strcmp(what, "license"))
		return names_print(what);
	if (!strcmp(what, "signal"))
		signals_print();
	else if (!strcmp(what, "event"))
		for (size_t i = 0; option_mail_event(i); i++)
			puts(option_mail_event(i));
	else if (!strcmp(what, "state"))
		for (size_t i = 0; format_state(i); i++)
			puts(format_state(i));
	else if (!strcmp(what, "verb"))
		for (const struct verb *v = verb_table(); v->name; v++)
			puts(v->name);
	else if (!strcmp(what, "object"))
		for (const struct admin_object *o = ADMIN_OBJECTS; o->name; o++)
			puts(o->name);
	else
		verb_misuse(scan->verb, "there is no completion for \"%s\"; there is one for bash", what);
	return EXIT_OK;
}

int verb_completion(const struct verb *verb, int argc, char **argv)
{
	struct verb_scan scan = VERB_SCAN(verb, argc, argv);
	const char *what;

	while (verb_next(&scan))
		;
	what = scan.operands ? argv[scan.at] : "bash";
	verb_operands(&scan, !strcmp(what, "step") ? 2 : 0, !strcmp(what, "step") ? 2 : 1);
	if (!strcmp(what, "step"))
		return steps_print(argv[scan.at + 1]);
	if (strcmp(what, "bash"))
		return words_print(&scan, what);
	bash_print();
	return EXIT_OK;
}
