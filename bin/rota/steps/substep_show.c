/* substep_show.c - prints sub-steps in `rota show` (substep_show.h).
 *
 * Called by: verb/show.c.
 * Invariants:
 * - The state of a sub-step that waits or runs, and the reason, come from the step manager. All facts about an ended sub-step, or
 *   one whose step manager cannot be reached, come from the database. */
#include "bin/rota/steps/substep_show.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bin/rota/call/call.h"
#include "bin/rota/print/format.h"
#include "bin/rota/print/outcome.h"
#include "bin/rota/print/show_line.h"
#include "bin/rota/steps/session.h"
#include "bin/rota/steps/substep.h"
#include "bin/rota/steps/substep_record.h"

/* Returns the object of a sub-step in the answer to `list`, NULL if there is none. */
static json_t *live_find(struct rota_steps *steps, int number)
{
	json_t *list = rota_steps_list(steps), *row, *found = NULL;
	size_t i;

	json_array_foreach (list, i, row)
		if (json_integer_value(json_object_get(row, "substep")) == number)
			found = json_incref(row);
	json_decref(list);
	return found;
}

/* Overwrite members of a row from the database with those of the step manager's object. */
static void live_put(json_t *row, const json_t *live)
{
	static const struct {
		const char *live, *row;
	} names[] = {{"substep", "substep"}, {"name", "substep_name"},	 {"state", "state"},	 {"reason", "reason"},
		     {"tasks", "ntasks"},    {"cpus", "cpus"},		 {"run", "runs"},	 {"cause", "cause"},
		     {"exit", "exit_code"},  {"elapsed_s", "elapsed_s"}, {"waiting_s", "wait_s"}};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		json_object_set(row, names[i].row, json_object_get(live, names[i].live));
	if (json_integer_value(json_object_get(live, "signal")))
		json_object_set(row, "signal", json_object_get(live, "signal"));
}

static void seconds_print(const char *name, const json_t *row, const char *key)
{
	const json_t *value = json_object_get(row, key);

	show_line_print(name, json_is_number(value) ? format_duration(json_number_value(value)).s : "");
}

static void row_print(const char *label, const json_t *row)
{
	bool ended = format_state_final(format_text(row, "state"));
	char *words = ended ? outcome_words(row) : xstrdup(format_text(row, "state"));

	printf("sub-step %s: %s\n", label, words);
	free(words);
	show_line_print("Name", format_text(row, "substep_name"));
	show_line_print("Command", format_text(row, "command"));
	show_line_print("Reason", format_text(row, "reason"));
	show_line_size(row, "mem_requested_mb");
	show_line_print("Gres", format_text(row, "gres"));
	show_line_print("After", format_text(row, "after"));
	show_line_print("Node", format_text(row, "nodes"));
	show_line_print("Queued", format_time(json_object_get(row, "queued_at")).s);
	seconds_print("Waited", row, "wait_s");
	show_line_print("Started", format_time(json_object_get(row, "started_at")).s);
	seconds_print("Ran", row, "elapsed_s");
	show_line_print("Ended", format_time(json_object_get(row, "ended_at")).s);
	show_line_print("Exit", ended ? format_exit(json_object_get(row, "exit_code"), json_object_get(row, "signal")).s : "");
	show_line_print("Cause", ended ? format_text(row, "cause") : "");
	show_line_print("Runs",
			json_integer_value(json_object_get(row, "runs")) > 1 ? format_count(json_object_get(row, "runs")).s : "");
	seconds_print("CPU time", row, "cpu_s");
	show_line_print("Peak memory", format_size_kb(json_object_get(row, "max_rss_kb")).s);
}

/* Find the row of a sub-step, and store its full label in *label. Returns NULL with the exit status after an error message. */
static json_t *show_find(const char *word, const struct substep_own *own, char **label, int *status)
{
	int number;
	struct rota_steps *steps = substep_open(*word == '.' ? "show" : NULL, word, own, &number, status);
	json_t *live = steps ? live_find(steps, number) : NULL, *row = NULL;
	struct err e = {0};

	*label = *word == '.' ? xstrdup(session_label(number)) : xstrdup(word);
	if (!*status)
		row = substep_record(*label, &e);
	if (live && !row)
		row = json_pack("{ss}", "label", getenv("ROTA_STEP_LABEL"));
	if (live && (json_object_size(row) == 1 || !format_state_final(format_text(live, "state"))))
		live_put(row, live);
	if (!row && !*status)
		*status = call_refuse(&e);
	json_decref(live);
	if (steps)
		rota_steps_disconnect(steps);
	return row;
}

int substep_show(const struct verb_scan *scan, bool json)
{
	struct substep_own own = substep_own();
	json_t *rows = json_array();
	int status = EXIT_OK;

	for (int i = 0; i < scan->operands; i++) {
		int one;
		char *label;
		json_t *row = show_find(scan->argv[scan->at + i], &own, &label, &one);

		if (row && !json) {
			fputs(json_array_size(rows) ? "\n" : "", stdout);
			row_print(label, row);
		}
		if (row)
			json_array_append_new(rows, row);
		status = one > status ? one : status;
		free(label);
	}
	if (json) {
		printf("{\"substeps\": ");
		json_dumpf(rows, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(15));
		puts("}");
	}
	json_decref(rows);
	substep_own_free(&own);
	return status;
}
