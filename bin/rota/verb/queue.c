/* queue.c - `rota queue`: waiting and running jobs, one line each. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bin/rota/call/call.h"
#include "bin/rota/print/format.h"
#include "bin/rota/print/queue_table.h"
#include "bin/rota/call/rows.h"
#include "bin/rota/line/verb.h"
#include "bin/rota/line/words.h"

enum { QUEUE_ALL = 256, QUEUE_ME, QUEUE_START, QUEUE_LIMIT };

const struct verb_option queue_options[] = {
	{'u', "user", "LIST", "only jobs of these users, separated by commas"},
	{QUEUE_ME, "me", NULL, "only your own jobs"},
	{'t', "states", "LIST", "only jobs in these states, separated by commas; also ended ones; PD, R and so on work, too"},
	{'p', "partition", "NAME", "only jobs of this partition"},
	{'a', "all", NULL, "also jobs that have ended"},
	{QUEUE_START, "start", NULL, "show the expected start of waiting jobs"},
	{QUEUE_LIMIT, "limit", "N", "at most N jobs"},
	{'w', "wide", NULL, "do not shorten columns to fit the terminal"},
	VERB_OPTION_STALE,
	VERB_OPTION_JSON,
	{0, NULL, NULL, NULL},
};

struct queue_line {
	json_t *request;
	bool json, wide, start;
};

static void line_read(struct verb_scan *scan, struct queue_line *line)
{
	static const struct words_member members[] = {
		{'u', "user", WORDS_TEXT},	{QUEUE_ME, "user", WORDS_ME}, {'t', "states", WORDS_STATES},
		{'p', "partition", WORDS_TEXT}, {'a', "all", WORDS_TRUE},     {0, NULL, WORDS_TEXT},
	};
	json_t *request = line->request = json_object();

	for (int id; (id = verb_next(scan));) {
		if (words_member_set(scan, id, members, request))
			continue;
		if (id == QUEUE_LIMIT)
			json_object_set_new(request, "limit", json_integer(verb_number(scan, 1, 1000000)));
		line->start |= id == QUEUE_START;
		line->wide |= id == 'w';
		line->json |= id == VERB_JSON;
		if (id == VERB_STALE)
			call_use_stale();
	}
	if (scan->operands)
		json_object_set_new(request, "jobs", words_operands(scan));
}

/* Returns true if the job has ended and its data is being staged out. Its reason is then printed as its state. */
static bool job_is_staged_out(const json_t *job)
{
	const char *reason = format_text(job, "reason");

	return *format_text(job, "ended_at") && (strcmp(reason, "staging_out") == 0 || strcmp(reason, "stage_out_failed") == 0);
}

/* Returns the nodes of a running job, or the reason why a job waits. */
static const char *job_nodes_or_reason(const json_t *job)
{
	const char *nodes = format_text(job, "nodes");

	if (job_is_staged_out(job))
		return format_text(job, "state");
	return nodes[0] ? nodes : format_text(job, "reason");
}

static void queue_print_start(const json_t *jobs, bool wide)
{
	static const struct table_column START[] = {
		{"JOB", true, 0},	 {"NAME", false, 8},	 {"USER", false, 6},
		{"PARTITION", false, 6}, {"STATE", false, 0},	 {"PRIO", true, 0},
		{"SUBMITTED", false, 0}, {"EXPECTED", false, 0}, {"NODES/REASON", false, 12},
	};
	struct table *table = table_new(START, 9);
	const json_t *job;
	size_t i;

	json_array_foreach (jobs, i, job) {
		const char *state = format_text(job, job_is_staged_out(job) ? "reason" : "state");

		table_cell(table, format_count(json_object_get(job, "job_id")).s);
		table_cell(table, format_text(job, "name"));
		table_cell(table, format_text(job, "user"));
		table_cell(table, format_text(job, "partition"));
		table_cell_coloured(table, state, format_state_colour(state));
		table_cell(table, format_count(json_object_get(job, "priority")).s);
		table_cell(table, format_when(json_object_get(job, "submit_at")).s);
		table_cell(table, format_when(json_object_get(job, "expected_at")).s);
		table_cell(table, job_nodes_or_reason(job));
	}
	table_print(table, stdout, wide);
	table_free(table);
}

static void queue_print(const char *lines, bool wide)
{
	struct table *table = queue_table_new();

	rows_each(lines, QUEUE_COLUMNS, queue_table_add, table);
	table_print(table, stdout, wide);
	table_free(table);
}

int verb_queue(const struct verb *verb, int argc, char **argv)
{
	struct verb_scan scan = VERB_SCAN(verb, argc, argv);
	struct queue_line line = {0};
	json_t *answer;

	line_read(&scan, &line);
	if (!line.json && !line.start)
		json_object_set_new(line.request, "lines", json_true());
	answer = call_gate("queue", json_incref(line.request));
	if (answer && !words_found(line.request, answer)) {
		json_decref(line.request);
		json_decref(answer);
		return EXIT_REFUSED;
	}
	json_decref(line.request);
	if (!answer)
		return call_status();
	if (line.json)
		call_print_json();
	else if (line.start)
		queue_print_start(json_object_get(answer, "jobs"), line.wide);
	else
		queue_print(json_string_value(json_object_get(answer, "lines")), line.wide);
	json_decref(answer);
	return EXIT_OK;
}
