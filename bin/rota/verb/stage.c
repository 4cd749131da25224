/* stage.c - `rota stage`: lists transfers of data, makes one again that failed, and drops data that was kept.
 *
 * Called by: main.c and everyday.c, through verbs.def; rota-mover (the action report).
 * Invariants:
 * - The actions retry and drop submit a job, whose script names the transfers by --for. So they wait, run and are charged as any
 *   other job. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bin/rota/call/call.h"
#include "bin/rota/line/verb.h"
#include "bin/rota/line/words.h"
#include "bin/rota/print/format.h"
#include "bin/rota/print/transfers.h"
#include "bin/rota/submit/origin.h"
#include "bin/rota/submit/submit_key.h"

const struct verb_option stage_options[] = {
	{'a', "all", NULL, "also list transfers that ended well"},
	{'p', "partition", "NAME", "of retry and drop: partition to run in (default: as for other transfers)"},
	{'w', "wide", NULL, "do not shorten columns to fit the terminal"},
	VERB_OPTION_JSON,
	{0, NULL, NULL, NULL},
};

struct stage_line {
	bool all, wide, json;
	const char *partition;
};

/* Returns the transfers of a job, or those of the caller; NULL after an error was printed. */
static json_t *transfers_ask(const char *job, const struct stage_line *line)
{
	json_t *request = json_object();

	if (job)
		json_object_set_new(request, "job", json_string(job));
	if (line->all)
		json_object_set_new(request, "all", json_true());
	return call_gate("transfers", request);
}

static int stage_list(const char *job, const struct stage_line *line)
{
	json_t *answer = transfers_ask(job, line);

	if (answer && line->json)
		call_print_json();
	else if (answer)
		transfers_print(json_object_get(answer, "transfers"), line->wide);
	json_decref(answer);
	return answer ? EXIT_OK : call_status();
}

/* Add a word of a script's line to a text, quoted. */
static void script_add_word(FILE *script, const char *word)
{
	char *quoted = format_shell(word);

	fprintf(script, " %s", quoted);
	free(quoted);
}

/* Returns true if the action of the command line (retry or drop) is to repeat this transfer of a job. */
static bool transfer_is_wanted(const json_t *row, bool drop)
{
	const char *state = format_text(row, "state"), *direction = format_text(row, "direction");
	static const char *const stopped_states[] = {"failed", "interrupted", "cancelled", "kept", "skipped"};
	bool stopped = false;

	for (size_t i = 0; i < sizeof stopped_states / sizeof *stopped_states; i++)
		stopped |= !strcmp(state, stopped_states[i]);
	/* Skip a transfer whose data is on a node that no report has named yet. */
	if (!json_is_integer(json_object_get(row, "step_id")) && !*format_text(row, "place"))
		return false;
	return stopped && drop == !strcmp(direction, "drop");
}

/* Add the line to a script that repeats a transfer. */
static void script_add_line(FILE *script, const json_t *row)
{
	const char *direction = format_text(row, "direction");

	fprintf(script, "#ROTA stage-%s", direction);
	script_add_word(script, format_text(row, "source"));
	if (strcmp(direction, "drop") != 0) {
		fputs(" ->", script);
		script_add_word(script, format_text(row, "destination"));
	}
	fprintf(script, " --mode=%s --on-fail=out --for=%lld.%lld\n", format_text(row, "mode"),
		(long long)json_integer_value(json_object_get(row, "job_id")),
		(long long)json_integer_value(json_object_get(row, "transfer")));
}

/* Submit a job that repeats the stopped transfers of the folder or node `place` or, with `drop`, drops their data. Returns
 * jobmgrd's answer. NULL: no transfer has this place, or an error was printed. */
static json_t *stage_submit(const char *job, const char *place, const json_t *transfers, bool drop, const struct stage_line *line)
{
	char *text = NULL;
	size_t size = 0, i;
	int count = 0;
	struct err e;
	FILE *script = open_memstream(&text, &size);
	const json_t *row;
	json_t *options = json_pack("[o]", json_sprintf("--job-name=stage-%s", job)), *request;

	if (!script)
		die("out of memory");
	fputs("#!/bin/sh\n", script);
	json_array_foreach (transfers, i, row)
		if (transfer_is_wanted(row, drop) && !strcmp(format_text(row, "place"), place)) {
			script_add_line(script, row);
			count++;
		}
	fclose(script);
	if (*place)
		json_array_append_new(options, json_sprintf("--nodelist=%s", place));
	if (line->partition)
		json_array_append_new(options, json_sprintf("--partition=%s", line->partition));
	request = json_pack("{s:s, s:s, s:o}", "script", text, "script_name", "stage", "options", options);
	free(text);
	if (!count || !origin_add(request, &e)) {
		if (count)
			call_refuse(&e);
		json_decref(request);
		return NULL;
	}
	submit_key_add(request, NULL);
	return call_gate_patiently("submit", request);
}

/* Returns true if no transfer of the list before position `at` has the same place (folder or node) as that at `at`. */
static bool place_is_first(const json_t *transfers, size_t at)
{
	const char *place = format_text(json_array_get(transfers, at), "place");

	for (size_t i = 0; i < at; i++)
		if (!strcmp(format_text(json_array_get(transfers, i), "place"), place))
			return false;
	return true;
}

/* Repeat transfers of a job, or drop its data, by one new job for each place (folder or node). */
static int stage_again(const char *job, bool drop, const struct stage_line *line)
{
	json_t *answer = transfers_ask(job, line), *transfers = json_object_get(answer, "transfers"), *row;
	int submitted = 0, wanted = 0;
	size_t i;

	json_array_foreach (transfers, i, row) {
		wanted += transfer_is_wanted(row, drop);
		if (!place_is_first(transfers, i))
			continue;
		json_t *made = stage_submit(job, format_text(row, "place"), transfers, drop, line);

		if (made && line->json)
			call_print_json();
		else if (made)
			printf("job %lld %s\n", (long long)json_integer_value(json_object_get(made, "job_id")),
			       drop ? "drops the data" : "transfers the data again");
		submitted += made != NULL;
		json_decref(made);
	}
	json_decref(answer);
	if (answer && !wanted)
		fprintf(stderr, "rota stage: job %s has no %s\n", job,
			drop ? "data that is still there" : "transfer that failed or was left out");
	return submitted ? EXIT_OK : answer && !wanted ? EXIT_REFUSED : call_status();
}

/* Report a transfer: words NAME=VALUE. */
static int stage_report(const struct verb_scan *scan)
{
	json_t *request = json_object(), *answer;

	for (int i = 1; i < scan->operands; i++) {
		const char *word = scan->argv[scan->at + i], *equals = strchr(word, '=');
		json_t *value = equals ? json_string(equals + 1) : NULL;
		char *name = equals ? xstrndup(word, (size_t)(equals - word)) : NULL;

		/* A message that is not UTF-8 is left out. */
		if (value)
			json_object_set_new(request, name, value);
		free(name);
	}
	answer = call_gate_patiently("transfer_report", request);
	if (answer)
		call_print_json();
	json_decref(answer);
	return answer ? EXIT_OK : call_status();
}

int verb_stage(const struct verb *verb, int argc, char **argv)
{
	struct verb_scan scan = VERB_SCAN(verb, argc, argv);
	struct stage_line line = {0};
	const char *action = "list", *job = NULL;

	for (int id; (id = verb_next(&scan));) {
		line.all |= id == 'a';
		line.wide |= id == 'w';
		line.json |= id == VERB_JSON;
		if (id == 'p')
			line.partition = scan.value;
	}
	if (scan.operands)
		action = argv[scan.at];
	if (!strcmp(action, "report"))
		return stage_report(&scan);
	if (!strcmp(action, "list"))
		verb_operands(&scan, 0, 1);
	else if (!strcmp(action, "show") || !strcmp(action, "retry") || !strcmp(action, "drop"))
		verb_operands(&scan, 2, 2);
	else
		verb_misuse(verb, "\"%s\" is no action: list, show, retry or drop", action);
	if (scan.operands > 1)
		job = argv[scan.at + 1];
	if (job && job[strspn(job, "0123456789")])
		verb_misuse(verb, "\"%s\" is not the number of a job", job);
	if (!strcmp(action, "retry") || !strcmp(action, "drop"))
		return stage_again(job, !strcmp(action, "drop"), &line);
	return stage_list(job, &line);
}
