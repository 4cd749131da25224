/* selection.c - options that select jobs, and the question before selected jobs are changed. The database evaluates the
 * selection in the transaction that changes the jobs.
 *
 * Called by: the verbs that change jobs.
 * Invariants:
 * - Without a terminal, selected jobs are changed without a question.
 * - After the question, only jobs that the list has shown are changed. */
#include "bin/rota/jobs/selection.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bin/rota/call/call.h"
#include "bin/rota/print/format.h"
#include "bin/rota/print/table.h"
#include "bin/rota/line/words.h"

enum { LISTED_MOST = 20, NAMED_MOST = 10000 }; /* most jobs that are printed; most jobs that a request can name */

static const char *const KEYS[] = {"user", "name", "states", "partition", "account"};
enum { KEY_COUNT = sizeof(KEYS) / sizeof(KEYS[0]) };

bool selection_take(const struct verb_scan *scan, int id, json_t *request, bool *yes)
{
	static const struct words_member members[] = {
		{'u', "user", WORDS_LIST},    {'t', "states", WORDS_STATES}, {'p', "partition", WORDS_LIST},
		{'A', "account", WORDS_LIST}, {0, NULL, WORDS_TEXT},
	};
	int option = id > SELECTION_LONG ? id - SELECTION_LONG : id;

	if (words_member_set(scan, option, members, request))
		return true;
	if (option == SELECTION_ME)
		json_object_set_new(request, "user", json_pack("[s]", words_me()));
	else if (option == SELECTION_NAME)
		json_object_set_new(request, "name", json_pack("[o]", words_text(scan)));
	else if (option == 'y')
		*yes = true;
	else
		return false;
	return true;
}

bool selection_any(const json_t *request)
{
	for (int i = 0; i < KEY_COUNT; i++)
		if (json_object_get(request, KEYS[i]))
			return true;
	return false;
}

static json_t *select_request(const json_t *request)
{
	json_t *select = json_object();

	for (int i = 0; i < KEY_COUNT; i++)
		json_object_set(select, KEYS[i], json_object_get(request, KEYS[i]));
	json_object_set(select, "jobs", json_object_get(request, "jobs"));
	return select;
}

static void selection_print_list(const json_t *jobs)
{
	static const struct table_column COLUMNS[] = {
		{"JOB", true, 0}, {"NAME", false, 8}, {"USER", false, 6}, {"PARTITION", false, 6}, {"STATE", false, 0}};
	struct table *table = table_new(COLUMNS, sizeof(COLUMNS) / sizeof(COLUMNS[0]));
	size_t i, count = json_array_size(jobs);
	const json_t *job;

	json_array_foreach (jobs, i, job) {
		if (i == LISTED_MOST)
			break;
		table_cell(table, format_count(json_object_get(job, "job_id")).s);
		table_cell(table, format_text(job, "name"));
		table_cell(table, format_text(job, "user"));
		table_cell(table, json_string_value(json_array_get(json_object_get(job, "partitions"), 0)));
		table_cell(table, format_text(job, "state"));
	}
	table_print(table, stderr, false);
	table_free(table);
	if (count > LISTED_MOST)
		fprintf(stderr, "... and %zu more\n", count - LISTED_MOST);
}

static bool selection_ask(const struct verb *verb, size_t count)
{
	char answer[16] = "";

	fprintf(stderr, "%c%s %s? [y/N] ", toupper(verb->name[0]), verb->name + 1, count == 1 ? "this job" : "these jobs");
	return fgets(answer, sizeof(answer), stdin) && (answer[0] == 'y' || answer[0] == 'Y');
}

/* Replace the selection in the request by the ids of the listed jobs. */
static void selection_narrow(json_t *request, const json_t *jobs)
{
	json_t *labels = json_array();
	const json_t *job;
	size_t i;

	json_array_foreach (jobs, i, job)
		json_array_append_new(labels,
				      json_sprintf("%lld", (long long)json_integer_value(json_object_get(job, "job_id"))));
	json_object_set_new(request, "jobs", labels);
}

bool selection_confirm(const struct verb *verb, json_t *request, bool yes, int *status)
{
	json_t *answer, *jobs;
	size_t count;
	bool go_on = true;

	if (yes || !selection_any(request) || !isatty(STDIN_FILENO) || !isatty(STDERR_FILENO))
		return true;
	answer = call_gate("select", select_request(request));
	*status = call_status();
	if (!answer)
		return false;
	jobs = json_object_get(answer, "jobs");
	count = json_array_size(jobs);
	if (count > NAMED_MOST)
		verb_misuse(verb, "%zu jobs match, more than rota can list: select fewer, or add --yes", count);
	if (count) {
		selection_print_list(jobs);
		go_on = selection_ask(verb, count);
		if (!go_on)
			fputs("rota: nothing was changed\n", stderr);
		else if (!json_object_get(request, "jobs"))
			selection_narrow(request, jobs);
	}
	*status = EXIT_REFUSED;
	json_decref(answer);
	return go_on;
}
