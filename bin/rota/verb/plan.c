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
#include "bin/rota/plan/plan_rows.h"
#include "bin/rota/plan/plan_snapshot.h"
#include "bin/rota/submit/origin.h"
#include "bin/rota/submit/problems.h"
#include "bin/rota/submit/submit_options.h"
#include "jobmgr/schedule/schedule.h"
#include "jobmgr/translate/option.h"
#include "jobmgr/translate/translate.h"
#include "lib/text.h"

enum { PLAN_SUBMIT = 256, PLAN_DRAIN, PLAN_ADD_NODES, PLAN_SET, PLAN_AT, PLAN_MOVES, PLAN_HTML, CHANGES_MOST = 64 };

const struct verb_option plan_options[] = {
	{PLAN_SUBMIT, "submit", "SCRIPT", "what if this script were submitted"},
	{PLAN_DRAIN, "drain", "LIST", "what if these nodes were drained"},
	{PLAN_ADD_NODES, "add-nodes", "NODES", "what if there were more nodes, COUNT:CPUSc,MEM, such as 4:64c,250G"},
	{PLAN_SET, "set", "CHANGE",
	 "what if a partition had other limits, such as partition.main.max_time=1-0; also max_nodes, state"},
	{PLAN_AT, "at", "WHEN", "compare at that time, as if each running step ended at its time limit"},
	{PLAN_MOVES, "moves", NULL, "propose moves of running steps that gain more than they cost"},
	{PLAN_HTML, "html", "FILE", "write a self-contained page with a picture; -: standard output"},
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
	const char *html; /* file to write a page to; NULL: none */
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

/* The plan of a snapshot, by index of the pending step. */
struct forecast {
	struct schedule_result *result; /* owns messages */
	double *times;
	const char **messages;
};

/* Run the scheduler on a snapshot, and store the expected start of each pending step. */
static struct forecast forecast_run(struct plan_snapshot *snapshot, const struct schedule_policy *policy)
{
	const struct schedule_snapshot *s = &snapshot->rows->snapshot;
	struct schedule_result *result = schedule_run(s, policy);
	struct forecast f = {result, xcalloc(s->pending_count + 1, sizeof *f.times),
			     xcalloc(s->pending_count + 1, sizeof *f.messages)};

	for (size_t i = 0; i < s->pending_count; i++)
		f.times[i] = NAN;
	for (size_t i = 0; i < result->wait_count; i++) {
		f.times[result->waits[i].pending] = result->waits[i].expected_at;
		f.messages[result->waits[i].pending] = result->waits[i].message;
	}
	for (size_t i = 0; i < result->start_count; i++) {
		f.times[result->starts[i].pending] = s->now;
		f.messages[result->starts[i].pending] = "";
	}
	plan_preempt_note(snapshot, policy, result, f.times, f.messages);
	return f;
}

static void forecast_free(struct forecast *f)
{
	schedule_result_free(f->result);
	free(f->times);
	free(f->messages);
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

/* Returns the changes as options, " " between them; malloc'ed. */
static char *changes_text(const struct plan_line *line)
{
	char *text = xstrdup("");

	for (int i = 0; i < line->count; i++) {
		const struct verb_option *option = plan_options;

		while (option->id != line->change[i].id)
			option++;
		char *longer = xasprintf("%s%s--%s %s", text, i ? " " : "", option->name, line->change[i].value);

		free(text);
		text = longer;
	}
	return text;
}

static int rows_print(const struct plan_rows *rows, const struct plan_line *line)
{
	if (line->json) {
		plan_rows_json(rows);
	} else if (line->html) {
		char *changes = changes_text(line);
		bool good = plan_rows_page(rows, changes, line->html);

		free(changes);
		return good ? EXIT_OK : EXIT_REFUSED;
	} else {
		plan_rows_table(rows);
	}
	return EXIT_OK;
}

static bool line_has_changes(const struct plan_line *line)
{
	for (int i = 0; i < line->count; i++)
		if (line->change[i].id != PLAN_AT)
			return true;
	return false;
}

/* Print the plan `after` of a snapshot, compared with the plan `before` the changes. */
static int forecasts_print(const struct plan_snapshot *snapshot, const struct forecast *before, const struct forecast *after,
			   const struct plan_line *line)
{
	const struct schedule_snapshot *s = &snapshot->rows->snapshot;
	struct plan_row *rows = xcalloc(s->pending_count + 1, sizeof *rows);
	int status;

	for (size_t i = 0, old = 0; i < s->pending_count; i++)
		rows[i] = (struct plan_row){&s->pending[i], s->pending[i].job ? before->times[old++] : NAN, after->times[i],
					    after->messages[i]};
	status = rows_print(&(struct plan_rows){rows, s->pending_count, s->now, line->count > 0}, line);
	free(rows);
	return status;
}

/* Run the scheduler without and with the changes, both after the changes of the time, and print both results. */
static int plan_compare(struct plan_snapshot *snapshot, const struct schedule_policy *policy, const struct plan_line *line)
{
	int status = changes_apply(snapshot, line, true);

	if (status != EXIT_OK)
		return status;
	struct forecast before = forecast_run(snapshot, policy);

	if (!line_has_changes(line)) {
		status = forecasts_print(snapshot, &before, &before, line);
	} else if ((status = changes_apply(snapshot, line, false)) == EXIT_OK) {
		struct forecast after = forecast_run(snapshot, policy);

		status = forecasts_print(snapshot, &before, &after, line);
		forecast_free(&after);
	}
	forecast_free(&before);
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
		if (id == PLAN_HTML)
			line.html = scan.value;
		if (id == VERB_JSON || id == PLAN_MOVES || id == PLAN_HTML)
			continue;
		if (line.count == CHANGES_MOST)
			verb_misuse(verb, "there are more than %d changes", CHANGES_MOST);
		line.change[line.count].id = id;
		line.change[line.count++].value = scan.value;
	}
	verb_operands(&scan, 0, 0);
	if (line.moves && line.html)
		verb_misuse(verb, "--html has no picture of --moves; use one of them");
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
