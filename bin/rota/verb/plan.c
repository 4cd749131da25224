/* plan.c - `rota plan`: prints when the scheduler expects waiting steps to start, at present and after hypothetical changes of
 * nodes, partitions, running steps or the queue.
 *
 * Invariants:
 * - The scheduler runs in this process, on a snapshot that one read-only request returns. Nothing is written or locked. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bin/rota/call/call.h"
#include "bin/rota/line/verb.h"
#include "bin/rota/plan/plan_change.h"
#include "bin/rota/plan/plan_moves.h"
#include "bin/rota/plan/plan_preempt.h"
#include "bin/rota/plan/plan_snapshot.h"
#include "bin/rota/print/format.h"
#include "bin/rota/print/table.h"
#include "bin/rota/submit/origin.h"
#include "bin/rota/submit/problems.h"
#include "bin/rota/submit/submit_options.h"
#include "jobmgr/schedule/schedule.h"
#include "jobmgr/translate/option.h"
#include "jobmgr/translate/translate.h"
#include "lib/text.h"

enum { PLAN_SUBMIT = 256, PLAN_DRAIN, PLAN_ADD_NODES, PLAN_SET, PLAN_AT, PLAN_MOVES, CHANGES_MOST = 64 };

const struct verb_option plan_options[] = {
	{PLAN_SUBMIT, "submit", "SCRIPT", "what if this script were submitted"},
	{PLAN_DRAIN, "drain", "LIST", "what if these nodes were drained"},
	{PLAN_ADD_NODES, "add-nodes", "NODES", "what if there were more nodes, COUNT:CPUSc,MEM, such as 4:64c,250G"},
	{PLAN_SET, "set", "CHANGE",
	 "what if a partition had other limits, such as partition.main.max_time=1-0; also max_nodes, state"},
	{PLAN_AT, "at", "WHEN", "compare at that time, as if each running step ended at its time limit"},
	{PLAN_MOVES, "moves", NULL, "propose moves of running steps that gain more than they cost"},
	VERB_OPTION_JSON_OWN,
	{0, NULL, NULL, NULL},
};

struct plan_line {
	struct {
		int id;
		const char *value;
	} change[CHANGES_MOST];
	int count;
	bool json, moves;
};

/* Expected start of a step in seconds since 1970: the time of the snapshot means now, NAN never or not known. */
struct expected {
	const struct schedule_pending *step;
	double before, after;
	const char *message;
};

/* Returns the plan of a script; NULL after printing its problems. Sets *partition to the default partition, malloc'ed. */
static json_t *script_plan(const char *name, char **partition)
{
	struct translate_limits limits = translate_limits_default;
	struct translate_problems problems = {0};
	json_t *answer = call_gate("limits", json_object()), *folder, *plan;
	struct err e = {0};
	size_t size;
	char *script = NULL;

	if (!answer || !translate_limits_read(answer, &limits, &e))
		return NULL;
	json_decref(answer);
	folder = origin_folder(NULL, true, &e);
	script = folder ? submit_options_read(name, limits.script_bytes + 1, &size, &e) : NULL;
	if (!script) {
		call_refuse(&e);
		translate_limits_free(&limits);
		return NULL;
	}
	const struct translate_request request = {.script = script,
						  .size = size,
						  .script_name = name,
						  .workdir = json_string_value(folder),
						  .umask = 022,
						  .now = translate_now()};
	plan = translate_script(&request, &limits, &problems);
	if (!plan)
		problems_print("plan", name, &problems);
	*partition = xstrdup("");
	for (int i = 0; i < limits.partition_count; i++)
		if (limits.partitions[i].is_default) {
			free(*partition);
			*partition = xstrdup(limits.partitions[i].name);
		}
	translate_problems_free(&problems);
	translate_limits_free(&limits);
	json_decref(folder);
	free(script);
	return plan;
}

/* Apply one change of the command line to the snapshot. Returns EXIT_OK, or the exit status after printing an error. */
static int change_apply(struct plan_snapshot *snapshot, int id, const char *value)
{
	struct err e = {0};
	bool good = true;

	if (id == PLAN_SUBMIT) {
		char *partition = NULL;
		json_t *plan = script_plan(value, &partition);

		if (!plan)
			return EXIT_REFUSED;
		size_t waiting = plan_snapshot_submit(snapshot, plan, partition, &e);

		free(partition);
		json_decref(plan);
		if (waiting > 0 && waiting < SIZE_MAX)
			fprintf(stderr, "rota: %zu step%s of %s wait%s for other steps of the script, and %s not planned\n",
				waiting, text_plural((int64_t)waiting), value, waiting == 1 ? "s" : "",
				waiting == 1 ? "is" : "are");
		good = waiting < SIZE_MAX;
	} else if (id == PLAN_DRAIN) {
		good = plan_change_drain(snapshot, value, &e);
	} else if (id == PLAN_ADD_NODES) {
		good = plan_change_add_nodes(snapshot, value, &e);
	} else if (id == PLAN_SET) {
		good = plan_change_set(snapshot, value, &e);
	} else {
		struct option_context context = {.now = (int64_t)time(NULL)};
		json_t *at = option_value(option_row(OPTION_ID_BEGIN), value, &context, &e);

		good = at && plan_change_at(snapshot, json_number_value(at), &e);
		json_decref(at);
	}
	return good ? EXIT_OK : call_refuse(&e);
}

/* Store the expected start of each pending step. The arrays have one member for each step of the queue. */
static void times_note(const struct schedule_snapshot *s, const struct schedule_result *result, double *times,
		       const char **messages)
{
	for (size_t i = 0; i < s->pending_count; i++)
		times[i] = NAN;
	for (size_t i = 0; i < result->wait_count; i++) {
		times[result->waits[i].pending] = result->waits[i].expected_at;
		messages[result->waits[i].pending] = result->waits[i].message;
	}
	for (size_t i = 0; i < result->start_count; i++) {
		times[result->starts[i].pending] = s->now;
		messages[result->starts[i].pending] = "";
	}
}

static const char *verdict_of(const struct expected *x, bool changed, bool is_new)
{
	if (!changed)
		return isnan(x->after) ? "not known" : "";
	if (is_new)
		return isnan(x->after) ? "new, not known" : "new";
	if (isnan(x->before) || isnan(x->after))
		return isnan(x->before) == isnan(x->after) ? "not known" : isnan(x->after) ? "never, or not known" : "earlier";
	return fabs(x->after - x->before) < 1 ? "same" : x->after < x->before ? "earlier" : "later";
}

static json_t *time_json(double at)
{
	char text[64];
	time_t seconds = (time_t)at;
	struct tm tm;

	if (isnan(at) || at > 1e11)
		return json_null();
	strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S+00:00", gmtime_r(&seconds, &tm));
	return json_string(text);
}

static void label_write(const struct schedule_pending *step, char *text, size_t size)
{
	if (step->job)
		snprintf(text, size, "%lld.%s", (long long)step->job, step->name);
	else
		snprintf(text, size, "(%s)", step->name);
}

static void rows_print(const struct expected *rows, size_t count, bool changed, bool json)
{
	static const struct table_column columns[] = {{"STEP", false, 8}, {"PARTITION", false, 5}, {"EXPECTED", false, 0},
						      {"THEN", false, 0}, {"", false, 0},	   {"WHY", false, 12}};
	struct table *table = table_new(columns, sizeof columns / sizeof *columns);
	json_t *list = json_array();
	char label[512];

	for (size_t i = 0; i < count; i++) {
		const struct expected *x = &rows[i];
		bool is_new = x->step->job == 0;
		json_t *before = time_json(changed ? x->before : x->after), *after = time_json(x->after);

		label_write(x->step, label, sizeof label);
		table_cell(table, label);
		table_cell(table, x->step->partition);
		table_cell(table, is_new ? "-" : format_when(before).s);
		table_cell(table, changed ? format_when(after).s : "-");
		table_cell(table, verdict_of(x, changed, is_new));
		table_cell(table, x->message ? x->message : "");
		json_array_append_new(list, json_pack("{s:s, s:s, s:O, s:O, s:s, s:s}", "label", label, "partition",
						      x->step->partition, "expected_at", before, "then_at", after, "verdict",
						      verdict_of(x, changed, is_new), "message", x->message ? x->message : ""));
		json_decref(before);
		json_decref(after);
	}
	if (json) {
		json_t *answer = json_pack("{s:o}", "steps", json_incref(list));

		json_dumpf(answer, stdout, JSON_INDENT(2));
		puts("");
		json_decref(answer);
	} else if (count == 0) {
		puts("nothing waits for resources");
	} else {
		table_print(table, stdout, false);
	}
	table_free(table);
	json_decref(list);
}

/* Apply only the changes of the time (`clock`), or all other changes. */
static int changes_apply(struct plan_snapshot *snapshot, const struct plan_line *line, bool clock)
{
	int status = EXIT_OK;

	for (int i = 0; i < line->count && status == EXIT_OK; i++)
		if ((line->change[i].id == PLAN_AT) == clock)
			status = change_apply(snapshot, line->change[i].id, line->change[i].value);
	return status;
}

/* Run the scheduler without and with the changes, both after the changes of the time, and print both results. */
static int plan_compare(struct plan_snapshot *snapshot, const struct schedule_policy *policy, const struct plan_line *line)
{
	struct schedule_snapshot *s = &snapshot->rows->snapshot;
	size_t before_count = s->pending_count;
	int status = changes_apply(snapshot, line, true);

	if (status != EXIT_OK)
		return status;
	struct schedule_result *before = schedule_run(s, policy);
	double *was = xcalloc(before_count + 1, sizeof *was);
	const char **messages = xcalloc(before_count + 1, sizeof *messages);

	times_note(s, before, was, messages);
	plan_preempt_note(snapshot, policy, before, was, messages);
	status = changes_apply(snapshot, line, false);
	if (status == EXIT_OK) {
		struct schedule_result *after = schedule_run(s, policy);
		double *is = xcalloc(s->pending_count + 1, sizeof *is);
		const char **why = xcalloc(s->pending_count + 1, sizeof *why);
		struct expected *rows = xcalloc(s->pending_count + 1, sizeof *rows);

		times_note(s, after, is, why);
		plan_preempt_note(snapshot, policy, after, is, why);
		for (size_t i = 0, old = 0; i < s->pending_count; i++)
			rows[i] = (struct expected){&s->pending[i], s->pending[i].job ? was[old++] : NAN, is[i], why[i]};
		rows_print(rows, s->pending_count, line->count > 0, line->json);
		schedule_result_free(after);
		free(is);
		free(why);
		free(rows);
	}
	schedule_result_free(before);
	free(was);
	free(messages);
	return status;
}

int verb_plan(const struct verb *verb, int argc, char **argv)
{
	struct verb_scan scan = VERB_SCAN(verb, argc, argv);
	struct plan_line line = {0};
	struct schedule_policy policy = {.backfill = true};
	struct plan_snapshot snapshot = {0};
	struct err e = {0};
	json_t *answer;
	int status;

	for (int id; (id = verb_next(&scan));) {
		line.json |= id == VERB_JSON;
		line.moves |= id == PLAN_MOVES;
		if (id == VERB_JSON || id == PLAN_MOVES)
			continue;
		if (line.count == CHANGES_MOST)
			verb_misuse(verb, "there are more than %d changes", CHANGES_MOST);
		line.change[line.count].id = id;
		line.change[line.count++].value = scan.value;
	}
	verb_operands(&scan, 0, 0);
	answer = call_gate("plan_snapshot", json_pack("{s:b}", "moves", line.moves));
	if (!answer)
		return call_status();
	policy.reservations = call_conf()->schedule_backfill > 0 ? call_conf()->schedule_backfill : 1;
	if (!plan_snapshot_read(&snapshot, answer, &e))
		status = call_refuse(&e);
	else if (!line.moves)
		status = plan_compare(&snapshot, &policy, &line);
	else if ((status = changes_apply(&snapshot, &line, true)) == EXIT_OK &&
		 (status = changes_apply(&snapshot, &line, false)) == EXIT_OK)
		status = plan_moves_print(&snapshot, answer, &policy, line.json);
	plan_snapshot_free(&snapshot);
	json_decref(answer);
	return status;
}
