/* acct.c - `rota acct`: accounting of jobs and steps, as a table or, with --csv, --parsable or --json, for programs.
 *
 * Invariants:
 * - Output for programs is requested and printed page by page, so the memory of rota and jobmgrd does not grow with the
 *   output. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "acct/export.h"
#include "acct/field.h"
#include "bin/rota/call/call.h"
#include "bin/rota/print/format.h"
#include "bin/rota/output/output.h"
#include "bin/rota/call/rows.h"
#include "bin/rota/print/table.h"
#include "bin/rota/line/verb.h"
#include "bin/rota/line/words.h"
#include "lib/err.h"
#include "lib/nearest.h"

enum { ACCT_ME = 256, ACCT_ONLY, ACCT_LIMIT, ACCT_NAME, ACCT_FORMAT, ACCT_AS_CSV, ACCT_ATTEMPTS, ACCT_SUBSTEPS, ACCT_SESSIONS };
enum { MOST_FIELDS = 64, PIECE_JOBS = 2000, PIECE_STEPS = 200, PIECE_SUBSTEPS = 10, REAL_DIGITS = 15 };

const struct verb_option acct_options[] = {
	{'u', "user", "LIST", "only jobs of these users, separated by commas"},
	{ACCT_ME, "me", NULL, "only your own jobs"},
	{'A', "account", "NAME", "only jobs of this account and of those below it"},
	{ACCT_ONLY, "only", NULL, "with --account: without the accounts below it"},
	{'t', "states", "LIST", "only jobs or steps in these states, separated by commas; CD, F and so on work, too"},
	{'p', "partition", "NAME", "only this partition"},
	{'q', "qos", "NAME", "only under this quality of service"},
	{'N', "nodelist", "NODES", "only jobs or steps that ran on these nodes, separated by commas"},
	{ACCT_NAME, "name", "NAME", "only jobs of this name"},
	{'S', "since", "TIME", "only jobs or steps that ran after this time: 2025-11-20, 2025-11-20T14:00, today, now-2hours"},
	{'E', "until", "TIME", "only jobs or steps that ran before this time"},
	{ACCT_LIMIT, "limit", "N", "at most N rows, the latest"},
	{'s', "steps", NULL, "a row for each step, not only for each job"},
	{ACCT_ATTEMPTS, "attempts", NULL, "a row for each attempt of each step, with retries and requeues"},
	{'D', "duplicates", NULL, "the same as --attempts; the name of this option in sacct"},
	{ACCT_SUBSTEPS, "substeps", NULL,
	 "a row for each sub-step, as the step manager of the job reports it; --states are those of sub-steps"},
	{ACCT_SESSIONS, "sessions", NULL,
	 "a row for each session (rota shell, rota run --pty): who is attached, how long nobody used it; --states as for "
	 "--substeps"},
	{'o', "fields", "LIST", "these fields, separated by commas; --fields=help lists them"},
	{ACCT_FORMAT, "format", "LIST", "the same as --fields; names of sacct work too, as in JobID,State"},
	{'P', "parsable", NULL, "fields separated by |, not shortened or rounded"},
	{ACCT_AS_CSV, "csv", NULL, "CSV, not shortened or rounded"},
	{'n', "no-header", NULL, "no line of titles"},
	{'w', "wide", NULL, "do not shorten columns to fit the terminal"},
	VERB_OPTION_STALE,
	VERB_OPTION_JSON,
	{0, NULL, NULL, NULL},
};

static const char STEP_FIELDS[] = "label,user,state,exit_code,started_at,elapsed_s,cpu_s,max_rss_kb,nodes";
static const char ATTEMPT_FIELDS[] = "label,attempt,user,state,exit_code,cause,started_at,ended_at,elapsed_s,nodes,output_file";
static const char SUBSTEP_FIELDS[] =
	"label,attempt,substep,substep_name,state,exit_code,cause,started_at,elapsed_s,cpu_s,max_rss_kb,nodes";
static const char SESSION_FIELDS[] =
	"label,substep,session,user,state,cause,cpus,gres,attached,idle_s,idle_timeout_s,idle_timeout_of,nodes";
static const char JOB_FIELDS[] = "label,name,user,state,exit_code,started_at,elapsed_s,cpu_s,max_rss_kb,nodes";
static const char PARSABLE_FIELDS[] =
	"label,name,user,account,partition,state,exit_code,signal,cause,submit_at,started_at,ended_at,"
	"elapsed_s,cpus,cpu_s,max_rss_kb,nodes,attempts";

struct acct_line {
	json_t *request;
	const char *fields;
	bool attempts, substeps, sessions, parsable, csv, no_header, wide, json;
};

static void fields_help_json(void)
{
	int count;
	const struct acct_field *fields = acct_fields(&count);
	json_t *list = json_array(), *answer = json_pack("{so}", "fields", list);

	for (int i = 0; i < count; i++)
		json_array_append_new(
			list, json_pack("{ss ss ss?}", "name", fields[i].name, "help", fields[i].help, "slurm", fields[i].slurm));
	json_dumpf(answer, stdout, 0);
	putchar('\n');
	json_decref(answer);
}

static void fields_help(void)
{
	int count;
	const struct acct_field *fields = acct_fields(&count);

	for (int i = 0; i < count; i++)
		printf("%-12s  %s%s%s%s\n", fields[i].name, fields[i].help, fields[i].slurm ? " (" : "",
		       fields[i].slurm ? fields[i].slurm : "", fields[i].slurm ? ")" : "");
}

/* Add a filter option to the request. Returns false if option `id` is no filter. */
static bool filter_read(struct verb_scan *scan, int id, json_t *request)
{
	static const struct words_member members[] = {
		{'u', "user", WORDS_TEXT},
		{'A', "account", WORDS_TEXT},
		{'p', "partition", WORDS_TEXT},
		{'q', "qos", WORDS_TEXT},
		{'S', "since", WORDS_TEXT},
		{'E', "until", WORDS_TEXT},
		{'N', "nodes", WORDS_TEXT},
		{ACCT_NAME, "name", WORDS_TEXT},
		{'t', "states", WORDS_STATES},
		{ACCT_ME, "user", WORDS_ME},
		{ACCT_ONLY, "only", WORDS_TRUE},
		{'s', "steps", WORDS_TRUE},
		{'D', "attempts", WORDS_TRUE},
		{ACCT_ATTEMPTS, "attempts", WORDS_TRUE},
		{ACCT_SUBSTEPS, "substeps", WORDS_TRUE},
		{ACCT_SESSIONS, "sessions", WORDS_TRUE},
		{0, NULL, WORDS_TEXT},
	};

	if (id == ACCT_LIMIT)
		return !json_object_set_new(request, "limit", json_integer(verb_number(scan, 1, 100000000)));
	return words_member_set(scan, id, members, request);
}

static void line_read(struct verb_scan *scan, struct acct_line *line)
{
	line->request = json_object();
	for (int id; (id = verb_next(scan));) {
		if (filter_read(scan, id, line->request))
			continue;
		if (id == 'o' || id == ACCT_FORMAT)
			line->fields = scan->value;
		line->parsable |= id == 'P' || id == ACCT_AS_CSV;
		line->csv |= id == ACCT_AS_CSV;
		line->no_header |= id == 'n';
		line->wide |= id == 'w';
		line->json |= id == VERB_JSON;
		if (id == VERB_STALE)
			call_use_stale();
	}
	line->substeps = json_is_true(json_object_get(line->request, "substeps"));
	line->sessions = json_is_true(json_object_get(line->request, "sessions"));
	line->attempts = !line->substeps && !line->sessions && json_is_true(json_object_get(line->request, "attempts"));
	if (scan->operands)
		json_object_set_new(line->request, "jobs", words_operands(scan));
}

static void field_misuse(const struct verb *verb, const char *word)
{
	int count;
	const struct acct_field *fields = acct_fields(&count);
	const char *known[MOST_FIELDS + 1] = {NULL};
	const char *near;

	for (int i = 0; i < count && i < MOST_FIELDS; i++)
		known[i] = fields[i].name;
	near = nearest_of(word, known);
	verb_misuse(verb, "there is no field \"%s\"%s%s%s", word, near ? "; did you mean \"" : "", near ? near : "",
		    near ? "\"?" : "");
}

/* Find the fields of a list of names. Returns the number of fields. An unknown name is misuse; the message suggests the
 * nearest name. */
static int fields_find(const struct verb *verb, const char *names, const struct acct_field **fields)
{
	char *copy = xstrdup(names), *rest = copy, *word;
	int count = 0;

	while ((word = strsep(&rest, ","))) {
		const struct acct_field *field = acct_field(word);

		if (!field)
			field_misuse(verb, word);
		if (count == MOST_FIELDS)
			verb_misuse(verb, "more than %d fields", MOST_FIELDS);
		fields[count++] = field;
	}
	free(copy);
	return count;
}

/* Format a field that is no text for a table. An unknown value is "-". */
static struct word field_word(const struct acct_field *field, const json_t *value, const json_t *signal)
{
	switch (field->kind) {
	case ACCT_NUMBER:
		return format_count(value);
	case ACCT_SECONDS:
		return format_duration(json_is_number(value) ? json_number_value(value) : -1);
	case ACCT_WHEN:
		return format_when(value);
	case ACCT_KILOBYTES:
		return format_size_kb(value);
	case ACCT_MEGABYTES:
		return format_size_mb(value);
	case ACCT_BYTES:
		return format_size_bytes(value);
	case ACCT_EXIT:
		return format_exit(value, signal);
	default:
		return (struct word){""};
	}
}

static bool field_is_text(const struct acct_field *field)
{
	return field->kind == ACCT_STATE || field->kind == ACCT_TEXT || field->kind == ACCT_LABEL;
}

static void text_cell(struct table *table, const struct acct_field *field, const char *text)
{
	table_cell_coloured(table, text, field->kind == ACCT_STATE ? format_state_colour(text) : "");
}

/* Print the state of a job whose data could not be staged out. */
static void stuck_cell(struct table *table, const char *state)
{
	char *text = xasprintf("%s, stage-out failed", state);

	table_cell(table, text);
	free(text);
}

/* Returns true if this is the row of a job whose data could not be staged out. */
static bool row_is_stuck(const json_t *row)
{
	return !strcmp(format_text(row, "staging"), "stage_out_failed") && !*format_text(row, "step");
}

/* A table of rows and the fields in its columns. */
struct list {
	struct table_column columns[MOST_FIELDS];
	struct table *table;
	const struct acct_field **fields;
	int count;
};

static void row_add(struct list *list, const json_t *row)
{
	for (int f = 0; f < list->count; f++) {
		const struct acct_field *field = list->fields[f];
		const json_t *value = json_object_get(row, field->name);

		if (field->kind == ACCT_STATE && row_is_stuck(row))
			stuck_cell(list->table, format_text(row, field->name));
		else if (field_is_text(field))
			text_cell(list->table, field, format_text(row, field->name));
		else
			table_cell(list->table, field_word(field, value, json_object_get(row, "signal")).s);
	}
}

/* Fields of a line in an answer of `acct` in its short form (rows.h): those of JOB_FIELDS, with the signal after the exit
 * code. */
enum {
	LINE_JOB,
	LINE_NAME,
	LINE_USER,
	LINE_STATE,
	LINE_EXIT,
	LINE_SIGNAL,
	LINE_STARTED,
	LINE_ELAPSED,
	LINE_CPU,
	LINE_MEMORY,
	LINE_NODES,
	LINE_FIELDS
};

static void line_add(char **fields, void *arg)
{
	struct table *table = ((struct list *)arg)->table;
	const char *started = fields[LINE_STARTED], *elapsed = fields[LINE_ELAPSED], *memory = fields[LINE_MEMORY];
	int signal = atoi(fields[LINE_SIGNAL]);

	table_cell(table, fields[LINE_JOB]);
	table_cell(table, fields[LINE_NAME]);
	table_cell(table, fields[LINE_USER]);
	table_cell_coloured(table, fields[LINE_STATE], format_state_colour(fields[LINE_STATE]));
	table_cell(table, signal > 0 ? format_signal(signal).s : fields[LINE_EXIT]);
	table_cell(table, started[0] ? format_when_at(atoll(started)).s : "-");
	table_cell(table, elapsed[0] ? format_duration((double)atoll(elapsed)).s : "-");
	table_cell(table, fields[LINE_CPU][0] ? format_duration((double)atoll(fields[LINE_CPU]) / 1e6).s : "-");
	table_cell(table, memory[0] ? format_kilobytes((double)atoll(memory)).s : "-");
	table_cell(table, fields[LINE_NODES]);
}

static void acct_print(const json_t *answer, const struct acct_line *line, const struct acct_field **fields, int count)
{
	const char *lines = json_string_value(json_object_get(answer, "lines"));
	struct list list = {.fields = fields, .count = count};
	const json_t *row;
	size_t i;

	for (int f = 0; f < count; f++)
		list.columns[f] = (struct table_column){line->no_header ? "" : fields[f]->title,
							fields[f]->kind != ACCT_TEXT && fields[f]->kind != ACCT_STATE &&
								fields[f]->kind != ACCT_LABEL && fields[f]->kind != ACCT_WHEN,
							fields[f]->shrink};
	list.table = table_new(list.columns, count);
	if (lines)
		rows_each(lines, LINE_FIELDS, line_add, &list);
	json_array_foreach (json_object_get(answer, "rows"), i, row)
		row_add(&list, row);
	table_print(list.table, stdout, line->wide);
	table_free(list.table);
}

/* In rows of attempts, replace the pattern of the output file by its path. */
static void files_add(const json_t *rows, const struct acct_line *line)
{
	json_t *row;
	size_t i;

	if (!line->attempts)
		return;
	json_array_foreach (rows, i, row) {
		json_t *step = json_copy(row);
		char *path;

		json_object_set(step, "name", json_object_get(row, "step"));
		path = json_is_string(json_object_get(row, "started_at")) ? output_path(row, step, "output") : NULL;
		json_object_set_new(row, "output_file", path ? json_string(path) : json_null());
		free(path);
		json_decref(step);
	}
}

/* Print the rows of one answer in the form for programs (--csv, --parsable or --json). */
static void piece_print(const json_t *rows, const struct acct_line *line, const struct acct_field **fields, int count, bool first)
{
	const json_t *row;
	size_t i;

	files_add(rows, line);
	if (!line->json) {
		acct_export(stdout, rows, fields, count, line->csv ? ACCT_CSV : ACCT_BARS);
		return;
	}
	json_array_foreach (rows, i, row) {
		fputs(first && !i ? "" : ", ", stdout);
		json_dumpf(row, stdout, JSON_REAL_PRECISION(REAL_DIGITS));
	}
}

/* Returns the number of jobs in a page. */
static int piece_jobs(const struct acct_line *line)
{
	if (line->sessions)
		return PIECE_JOBS;
	if (line->substeps)
		return PIECE_SUBSTEPS;
	return line->attempts || json_object_get(line->request, "steps") ? PIECE_STEPS : PIECE_JOBS;
}

/* Print the end of the JSON that was written page by page, with the age of old answers ("stale"). */
static void stream_end(void)
{
	fputs("]", stdout);
	if (call_stale()) {
		fputs(", \"stale\": ", stdout);
		json_dumpf(call_stale(), stdout, JSON_COMPACT);
	}
	puts("}");
}

/* Request and print all rows page by page, the oldest first. */
static int acct_stream(const struct acct_line *line, const struct acct_field **fields, int count)
{
	int piece = piece_jobs(line);
	json_int_t after = 0;
	bool begun = false, first = true, more = true;

	json_object_set_new(line->request, "limit", json_integer(piece));
	while (more) {
		json_t *answer;

		json_object_set_new(line->request, "after", json_integer(after));
		answer = call_gate("acct", json_incref(line->request));
		if (!answer)
			return call_status();
		if (!begun && !words_found(line->request, answer)) {
			json_decref(answer);
			return EXIT_REFUSED;
		}
		if (!begun && line->json)
			fputs("{\"rows\": [", stdout);
		else if (!begun && !line->no_header)
			acct_export_header(stdout, fields, count, line->csv ? ACCT_CSV : ACCT_BARS);
		begun = true;
		piece_print(json_object_get(answer, "rows"), line, fields, count, first);
		first = first && !json_array_size(json_object_get(answer, "rows"));
		more = json_is_integer(json_object_get(answer, "next")) && !ferror(stdout);
		after = json_integer_value(json_object_get(answer, "next"));
		json_decref(answer);
	}
	if (line->json)
		stream_end();
	return EXIT_OK;
}

/* Send one request and print the answer: named jobs, the latest rows, or a table. */
static int acct_ask(const struct acct_line *line, const struct acct_field **fields, int count)
{
	json_t *answer = call_gate("acct", json_incref(line->request));

	if (!answer)
		return call_status();
	if (!words_found(line->request, answer)) {
		json_decref(answer);
		return EXIT_REFUSED;
	}
	files_add(json_object_get(answer, "rows"), line);
	if (line->json && line->attempts) {
		json_dumpf(answer, stdout, JSON_REAL_PRECISION(REAL_DIGITS));
		putchar('\n');
	} else if (line->json) {
		call_print_json();
	} else if (line->parsable && !line->no_header)
		acct_export_header(stdout, fields, count, line->csv ? ACCT_CSV : ACCT_BARS);
	if (!line->json && line->parsable)
		acct_export(stdout, json_object_get(answer, "rows"), fields, count, line->csv ? ACCT_CSV : ACCT_BARS);
	else if (!line->json)
		acct_print(answer, line, fields, count);
	json_decref(answer);
	return EXIT_OK;
}

/* Returns the names of the fields that are printed without --fields. */
static const char *default_fields(const struct acct_line *line)
{
	if (line->sessions)
		return SESSION_FIELDS;
	if (line->substeps)
		return SUBSTEP_FIELDS;
	if (line->attempts)
		return ATTEMPT_FIELDS;
	if (line->parsable)
		return PARSABLE_FIELDS;
	return json_object_get(line->request, "steps") ? STEP_FIELDS : JOB_FIELDS;
}

int verb_acct(const struct verb *verb, int argc, char **argv)
{
	struct verb_scan scan = VERB_SCAN(verb, argc, argv);
	const struct acct_field *fields[MOST_FIELDS];
	struct acct_line line = {0};
	int count, status;

	line_read(&scan, &line);
	if (line.fields && !strcmp(line.fields, "help")) {
		if (line.json)
			fields_help_json();
		else
			fields_help();
		json_decref(line.request);
		return EXIT_OK;
	}
	if (!line.fields)
		line.fields = default_fields(&line);
	count = fields_find(scan.verb, line.fields, fields);
	if (line.fields == JOB_FIELDS && !line.json)
		json_object_set_new(line.request, "lines", json_true());
	if ((line.json || line.parsable) && !json_object_get(line.request, "jobs") && !json_object_get(line.request, "limit"))
		status = acct_stream(&line, fields, count);
	else
		status = acct_ask(&line, fields, count);
	json_decref(line.request);
	return status;
}
