/* acct.c - `rota acct`: what ran, when, and what it used; for people, or with --parsable for programs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bin/rota/call.h"
#include "bin/rota/format.h"
#include "bin/rota/table.h"
#include "bin/rota/verb.h"
#include "bin/rota/words.h"
#include "lib/err.h"

enum { ACCT_ME = 256, ACCT_LIMIT, MOST_FIELDS = 64 };

const struct verb_option acct_options[] = {
	{'u', "user", "NAME", "only jobs of this user"},
	{ACCT_ME, "me", NULL, "only your own jobs"},
	{'A', "account", "NAME", "only jobs of this account"},
	{'t', "states", "LIST", "only what is in these states, with commas between"},
	{'p', "partition", "NAME", "only this partition"},
	{'S', "since", "TIME", "only what ran after this: 2025-11-20, 2025-11-20T14:00, today, now-2hours"},
	{'E', "until", "TIME", "only what ran before this"},
	{ACCT_LIMIT, "limit", "N", "at most N rows, the latest"},
	{'s', "steps", NULL, "a row for each step, not only for each job"},
	{'o', "fields", "LIST", "these fields, with commas between; --fields=help lists them"},
	{'P', "parsable", NULL, "fields with | between, nothing cut or rounded"},
	{'n', "no-header", NULL, "no titles"},
	{'w', "wide", NULL, "cut nothing to fit the terminal"},
	VERB_OPTION_JSON,
	{0, NULL, NULL, NULL},
};

enum kind { TEXT, LABEL, NUMBER, SECONDS, WHEN, KILOBYTES, BYTES, EXIT, STATE };

/* The fields there are: name, title, kind, and what they are. */
static const struct acct_field {
	const char *name, *title;
	enum kind kind;
	int shrink;
	const char *help;
} FIELDS[] = {
	{"job_id", "JOB", NUMBER, 0, "number of the job"},
	{"label", "JOB", LABEL, 12, "job, step and array index: 812, 812.solve, 812.solve[7]"},
	{"step", "STEP", TEXT, 6, "name of the step"},
	{"name", "NAME", TEXT, 6, "name of the job"},
	{"user", "USER", TEXT, 5, "its owner"},
	{"account", "ACCOUNT", TEXT, 5, "account that paid"},
	{"partition", "PARTITION", TEXT, 5, "partition"},
	{"state", "STATE", STATE, 0, "state"},
	{"exit_code", "EXIT", EXIT, 0, "exit code, or the signal that ended it"},
	{"signal", "SIGNAL", NUMBER, 1, "number of the signal"},
	{"cause", "CAUSE", TEXT, 5, "why it ended"},
	{"submit_at", "SUBMITTED", WHEN, 0, "when it was submitted"},
	{"started_at", "STARTED", WHEN, 0, "when it started"},
	{"ended_at", "ENDED", WHEN, 0, "when it ended"},
	{"elapsed_s", "TIME", SECONDS, 0, "how long it ran"},
	{"cpus", "CPUS", NUMBER, 0, "CPUs allocated"},
	{"cpu_s", "CPU TIME", SECONDS, 0, "CPU time used, user and system"},
	{"max_rss_kb", "MEMORY", KILOBYTES, 0, "most memory of a task"},
	{"nodes", "NODES", TEXT, 4, "nodes it ran on"},
	{"attempts", "TRIES", NUMBER, 0, "how often it was started"},
	{"ntasks", "TASKS", NUMBER, 0, "number of tasks"},
	{"read_bytes", "READ", BYTES, 0, "bytes read from storage"},
	{"write_bytes", "WRITTEN", BYTES, 0, "bytes written to storage"},
};

enum { FIELD_COUNT = sizeof(FIELDS) / sizeof(FIELDS[0]) };

static const char STEP_FIELDS[] = "label,user,state,exit_code,started_at,elapsed_s,cpu_s,max_rss_kb,nodes";
static const char JOB_FIELDS[] = "label,name,user,state,exit_code,started_at,elapsed_s,cpu_s,max_rss_kb,nodes";
static const char PARSABLE_FIELDS[] =
	"label,name,user,account,partition,state,exit_code,signal,cause,submit_at,started_at,ended_at,"
	"elapsed_s,cpus,cpu_s,max_rss_kb,nodes,attempts";

struct acct_line {
	json_t *request;
	const char *fields;
	bool parsable, no_header, wide, json;
};

static void fields_help(void)
{
	for (int i = 0; i < FIELD_COUNT; i++)
		printf("%-12s  %s\n", FIELDS[i].name, FIELDS[i].help);
}

/* The options that narrow the request; false where `id` is none of them. */
static bool filter_read(struct verb_scan *scan, int id, json_t *request)
{
	static const struct {
		int id;
		const char *key;
	} TEXTS[] = {{'u', "user"}, {'A', "account"}, {'p', "partition"}, {'S', "since"}, {'E', "until"}};

	for (size_t i = 0; i < sizeof(TEXTS) / sizeof(TEXTS[0]); i++)
		if (TEXTS[i].id == id)
			return !json_object_set_new(request, TEXTS[i].key, words_text(scan));
	if (id == 't')
		json_object_set_new(request, "states", words_list(scan));
	else if (id == ACCT_ME)
		json_object_set_new(request, "user", json_string(words_me()));
	else if (id == ACCT_LIMIT)
		json_object_set_new(request, "limit", json_integer(verb_number(scan, 1, 100000000)));
	else if (id == 's')
		json_object_set_new(request, "steps", json_true());
	else
		return false;
	return true;
}

static void line_read(struct verb_scan *scan, struct acct_line *line)
{
	line->request = json_object();
	for (int id; (id = verb_next(scan));) {
		if (filter_read(scan, id, line->request))
			continue;
		if (id == 'o')
			line->fields = scan->value;
		line->parsable |= id == 'P';
		line->no_header |= id == 'n';
		line->wide |= id == 'w';
		line->json |= id == VERB_JSON;
	}
	if (scan->operands)
		json_object_set_new(line->request, "jobs", words_operands(scan));
}

/* The fields of a list of names; misuse with the nearest where there is none. */
static int fields_find(const struct verb *verb, const char *names, const struct acct_field **fields)
{
	char *copy = xstrdup(names), *rest = copy, *word;
	const char *known[FIELD_COUNT + 1] = {NULL};
	int count = 0;

	while ((word = strsep(&rest, ","))) {
		const char *near;
		int i = 0;

		while (i < FIELD_COUNT && strcmp(FIELDS[i].name, word))
			i++;
		if (count == MOST_FIELDS)
			verb_misuse(verb, "more than %d fields", MOST_FIELDS);
		if (i < FIELD_COUNT) {
			fields[count++] = &FIELDS[i];
			continue;
		}
		for (i = 0; i < FIELD_COUNT; i++)
			known[i] = FIELDS[i].name;
		near = verb_nearest(word, known);
		verb_misuse(verb, "there is no field \"%s\"%s%s%s", word, near ? "; did you mean \"" : "", near ? near : "",
			    near ? "\"?" : "");
	}
	free(copy);
	return count;
}

/* A field for people. */
static struct word field_word(const json_t *row, const struct acct_field *field)
{
	const json_t *value = json_object_get(row, field->name);

	switch (field->kind) {
	case NUMBER:
		return format_count(value);
	case SECONDS:
		return format_duration(json_is_number(value) ? json_number_value(value) : -1);
	case WHEN:
		return format_when(value);
	case KILOBYTES:
		return format_size_kb(value);
	case BYTES:
		return format_size_bytes(value);
	case EXIT:
		return format_exit(value, json_object_get(row, "signal"));
	default:
		return (struct word){""};
	}
}

static void field_cell(struct table *table, const json_t *row, const struct acct_field *field)
{
	const char *text = format_text(row, field->name);

	if (field->kind == STATE)
		table_cell_coloured(table, text, format_state_colour(text));
	else if (field->kind == TEXT || field->kind == LABEL)
		table_cell(table, text);
	else
		table_cell(table, field_word(row, field).s);
}

static void print(const json_t *rows, const struct acct_line *line, const struct acct_field **fields, int count)
{
	struct table_column columns[MOST_FIELDS] = {{0}};
	struct table *table = table_new(columns, count);
	const json_t *row;
	size_t i;

	for (int f = 0; f < count; f++)
		columns[f] = (struct table_column){line->no_header ? "" : fields[f]->title,
						   fields[f]->kind != TEXT && fields[f]->kind != STATE &&
							   fields[f]->kind != LABEL && fields[f]->kind != WHEN,
						   fields[f]->shrink};
	json_array_foreach (rows, i, row)
		for (int f = 0; f < count; f++)
			field_cell(table, row, fields[f]);
	table_print(table, stdout, line->wide);
	table_free(table);
}

/* A value as it is, with what would part fields or lines replaced. */
static void raw_print(const json_t *value)
{
	const char *text = json_string_value(value);

	if (json_is_integer(value))
		printf("%lld", (long long)json_integer_value(value));
	else if (json_is_real(value))
		printf("%.6g", json_real_value(value));
	for (; text && *text; text++)
		putchar(*text == '|' || (unsigned char)*text < 0x20 ? ' ' : *text);
}

static void print_parsable(const json_t *rows, const struct acct_line *line, const struct acct_field **fields, int count)
{
	const json_t *row;
	size_t i;

	for (int f = 0; f < count && !line->no_header; f++)
		printf("%s%c", fields[f]->name, f + 1 < count ? '|' : '\n');
	json_array_foreach (rows, i, row) {
		for (int f = 0; f < count; f++) {
			raw_print(json_object_get(row, fields[f]->name));
			putchar(f + 1 < count ? '|' : '\n');
		}
	}
}

int verb_acct(int argc, char **argv)
{
	struct verb_scan scan = VERB_SCAN(verb_find("acct"), argc, argv);
	const struct acct_field *fields[MOST_FIELDS];
	struct acct_line line = {0};
	json_t *answer;
	int count;

	line_read(&scan, &line);
	if (line.fields && !strcmp(line.fields, "help")) {
		fields_help();
		json_decref(line.request);
		return EXIT_OK;
	}
	if (!line.fields)
		line.fields = line.parsable ? PARSABLE_FIELDS : json_object_get(line.request, "steps") ? STEP_FIELDS : JOB_FIELDS;
	count = fields_find(scan.verb, line.fields, fields);
	answer = call_gate("acct", line.request);
	if (!answer)
		return call_status();
	if (line.json)
		call_print_json();
	else if (line.parsable)
		print_parsable(json_object_get(answer, "rows"), &line, fields, count);
	else
		print(json_object_get(answer, "rows"), &line, fields, count);
	json_decref(answer);
	return EXIT_OK;
}
