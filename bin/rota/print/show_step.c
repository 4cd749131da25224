/* show_step.c - prints the steps of a job in `rota show`: as rows of a table, or one step in full.
 *
 * Called by: verb/show.c. */
#include "bin/rota/print/show_step.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bin/rota/output/output.h"
#include "bin/rota/print/attempts.h"
#include "bin/rota/print/format.h"
#include "bin/rota/print/join.h"
#include "bin/rota/print/outcome.h"
#include "bin/rota/print/peers.h"
#include "bin/rota/print/show_line.h"
#include "bin/rota/print/table.h"
#include "lib/err.h"

/* Returns the progress of an array as "40/100", "" for another step. */
static struct word progress(const json_t *step)
{
	const json_t *array = json_object_get(step, "array");
	struct word w = {""};

	if (json_is_object(array))
		snprintf(w.s, sizeof(w.s), "%lld/%lld",
			 (long long)(json_integer_value(json_object_get(array, "completed")) +
				     json_integer_value(json_object_get(array, "failed"))),
			 (long long)json_integer_value(json_object_get(array, "size")));
	return w;
}

static void step_row(struct table *table, const json_t *step)
{
	const char *state = format_text(step, "state"), *label = format_text(step, "label"), *dot = strchr(label, '.');
	char *after = peers_text(step, false);
	int attempt = (int)json_integer_value(json_object_get(step, "attempt"));

	table_cell(table, dot ? dot + 1 : label);
	table_cell_coloured(table, state, format_state_colour(state));
	table_cell(table, progress(step).s);
	table_cell(table, format_ran(step).s);
	table_cell(table, format_row_exit(step).s);
	table_cell(table, attempt > 1 ? format_count(json_object_get(step, "attempt")).s : "");
	table_cell(table, format_text(step, "nodes"));
	table_cell(table, after);
	table_cell(table, show_line_reason(step));
	free(after);
}

void show_step_table(const json_t *steps, bool wide)
{
	static const struct table_column COLUMNS[] = {
		{"STEP", false, 10}, {"STATE", false, 0}, {"DONE", true, 3},   {"TIME", true, 0},     {"EXIT", true, 1},
		{"TRY", true, 1},    {"NODES", false, 5}, {"AFTER", false, 8}, {"REASON", false, 12},
	};
	struct table *table = table_new(COLUMNS, sizeof(COLUMNS) / sizeof(COLUMNS[0]));
	const json_t *step;
	size_t i;

	json_array_foreach (steps, i, step)
		step_row(table, step);
	putchar('\n');
	table_print(table, stdout, wide);
	table_free(table);
}

void show_step_warnings(const json_t *step, json_t *said)
{
	const json_t *warning;
	size_t i;

	json_array_foreach (json_object_get(step, "warnings"), i, warning) {
		char *text = xasprintf("%s: %s", format_text(warning, "node"), format_text(warning, "message"));

		if (!json_object_get(said, text))
			show_line_print("Warning", text);
		json_object_set_new(said, text, json_true());
		free(text);
	}
}

static struct word duration_of(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);

	return format_duration(json_is_number(value) ? json_number_value(value) : -1);
}

/* Print amounts {"gpu": 2, "fpga": 1} as "gpu:2,fpga:1". */
static void amounts_print(const char *name, const json_t *amounts)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	const json_t *count;
	const char *key;

	if (!out)
		die("out of memory");
	json_object_foreach ((json_t *)amounts, key, count)
		fprintf(out, "%s%s:%lld", ftell(out) ? "," : "", key, (long long)json_integer_value(count));
	if (fclose(out))
		die("out of memory");
	show_line_print(name, text);
	free(text);
}

static void names_print(const char *name, const json_t *names)
{
	char *text = join_text(names);

	show_line_print(name, text);
	free(text);
}

/* Print the resources that a suspended step keeps (--keep): {"mem": true, ...}. */
static void kept_print(const json_t *keep)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	const json_t *kept;
	const char *key;

	if (!out)
		die("out of memory");
	json_object_foreach ((json_t *)keep, key, kept)
		if (json_is_true(kept))
			fprintf(out, "%s%s", ftell(out) ? "," : "", key);
	if (json_object_size(keep) && !ftell(out))
		fputs("none", out);
	if (fclose(out))
		die("out of memory");
	show_line_print("Keeps", text);
	free(text);
}

/* Print further requests of a step: nodes, devices, licences, times. */
static void wishes_print(const json_t *step)
{
	const json_t *lowest = json_object_get(step, "nodes_min"), *highest = json_object_get(step, "nodes_max");
	bool range = json_is_integer(highest) && !json_equal(lowest, highest);
	char nodes[160];

	snprintf(nodes, sizeof(nodes), "%s%s%s%s", format_count(lowest).s, range ? "-" : "", range ? format_count(highest).s : "",
		 json_is_true(json_object_get(step, "exclusive")) ? ", for itself alone" : "");
	show_line_print("Wants nodes", json_is_integer(lowest) && strcmp(nodes, "1") ? nodes : "");
	names_print("On nodes", json_object_get(step, "nodelist"));
	names_print("Not on", json_object_get(step, "exclude"));
	show_line_print("Constraint", format_text(step, "constraint"));
	amounts_print("Gres", json_object_get(step, "gres"));
	amounts_print("Licences", json_object_get(step, "licenses"));
	show_line_print("Group", format_text(step, "group"));
	show_line_print("Retries",
			json_integer_value(json_object_get(step, "retry")) ? format_count(json_object_get(step, "retry")).s : "");
	show_line_print("Begin", format_time(json_object_get(step, "begin_at")).s);
	show_line_print("Deadline", format_time(json_object_get(step, "deadline_at")).s);
	show_line_print("Least time",
			json_is_integer(json_object_get(step, "time_min_s")) ? duration_of(step, "time_min_s").s : "");
	show_line_print("Requeue", json_is_false(json_object_get(step, "requeue")) ? "no" : "");
	kept_print(json_object_get(step, "keep"));
	show_line_print("Samples", json_is_integer(json_object_get(step, "sample_s")) ? duration_of(step, "sample_s").s : "");
	show_line_print("Signal", format_text(step, "limit_signal"));
	show_line_print("Idle limit",
			json_is_integer(json_object_get(step, "idle_timeout_s")) ? duration_of(step, "idle_timeout_s").s : "");
	show_line_print("If changed", format_text(step, "if_changed"));
	show_line_print("Prolog", format_text(step, "prolog"));
	show_line_print("Epilog", format_text(step, "epilog"));
}

void show_step_hooks(const json_t *step, bool with_step)
{
	const char *label = format_text(step, "label"), *dot = strchr(label, '.'), *name = dot ? dot + 1 : label;
	const json_t *hook;
	size_t i;

	json_array_foreach (json_object_get(step, "hooks"), i, hook) {
		const char *node = format_text(hook, "node"), *message = format_text(hook, "message");
		struct word status = format_exit(json_object_get(hook, "exit_code"), json_object_get(hook, "signal"));
		bool ended = json_is_string(json_object_get(hook, "ended_at"));
		char *text = xasprintf("%s%s%s%s%s: %s", with_step ? name : "", with_step ? ": " : "", format_text(hook, "hook"),
				       node[0] ? " on " : "", node,
				       !ended	    ? "has not ended"
				       : message[0] ? message
						    : status.s);

		show_line_print("Hook", text);
		free(text);
	}
}

/* Print the driver of checkpoints that saves the step, and why --checkpoint=auto has chosen it. */
static void checkpointing_print(const json_t *step)
{
	const json_t *with = json_object_get(step, "checkpointing");
	const char *why = format_text(with, "why");
	char *text = xasprintf("by %s%s%s", format_text(with, "driver"), *why ? ": " : "", why);

	show_line_print("Checkpoints", json_is_object(with) ? text : "");
	free(text);
}

void show_step_lives(const json_t *step, bool with_step)
{
	const char *label = format_text(step, "label"), *dot = strchr(label, '.'), *name = dot ? dot + 1 : label;
	const json_t *one;
	size_t i;

	json_array_foreach (json_object_get(step, "attempts"), i, one) {
		char *text = xasprintf("%s%sattempt %s by %s, %s (%s)", with_step ? name : "", with_step ? ": " : "",
				       format_count(json_object_get(one, "attempt")).s, format_text(one, "preempted_by"),
				       format_time(json_object_get(one, "preempted_at")).s, format_text(one, "preempted_mode"));

		show_line_print("Preempted", *format_text(one, "preempted_by") ? text : "");
		free(text);
	}
	json_array_foreach (json_object_get(step, "checkpoints"), i, one) {
		const json_t *at = json_object_get(one, "complete_at");
		char *text = xasprintf("%s%s%s %s, %s, %s", with_step ? name : "", with_step ? ": " : "",
				       format_count(json_object_get(one, "generation")).s, format_text(one, "state"),
				       format_time(json_is_string(at) ? at : json_object_get(one, "asked_at")).s,
				       format_size_bytes(json_object_get(one, "bytes")).s);

		show_line_print("Checkpoint", text);
		free(text);
	}
}

/* Print the interval between checkpoints of a step, and its computation: "31:10 = sqrt(2 * 1.20 s * 16-21:00:00)". */
static void timer_print(const json_t *timer)
{
	const json_t *cost = json_object_get(timer, "cost_s");
	bool is_measured = json_integer_value(json_object_get(timer, "failures")) > 0;
	char *text;

	if (!json_is_object(timer))
		return;
	if (json_is_number(cost))
		text = xasprintf("%s = sqrt(2 * %.2f s * %s), the time between failures of its nodes as %s",
				 duration_of(timer, "interval_s").s, json_number_value(cost), duration_of(timer, "mtbf_s").s,
				 is_measured ? "measured" : "assumed");
	else
		text = xasprintf("%s, until a checkpoint of it has been measured", duration_of(timer, "interval_s").s);
	show_line_print("Interval", text);
	free(text);
	show_line_print("Next", format_time(json_object_get(timer, "next_at")).s);
}

void show_step_print(const json_t *job, const json_t *step)
{
	char *words = outcome_words(step), *after = peers_text(step, false);
	char *input = output_path(job, step, "input");
	bool own = !attempts_is_unstarted(step);
	char *output = own ? output_path(job, step, "output") : NULL, *error = own ? output_path(job, step, "error") : NULL;
	int attempt = (int)json_integer_value(json_object_get(step, "attempt"));

	printf("step %s: %s\n", format_text(step, "label"), words);
	show_line_print("Partition", format_text(step, "partition"));
	show_line_size(step, "mem_mb");
	wishes_print(step);
	show_line_print("Nodes", format_text(step, "nodes"));
	show_line_print("After", after);
	show_line_print("Array", progress(step).s);
	show_line_print("Attempt", attempt ? format_count(json_object_get(step, "attempt")).s : "");
	show_line_print("Held", format_text(step, "held"));
	show_line_print("Eligible", format_time(json_object_get(step, "eligible_at")).s);
	show_line_times(step);
	show_line_print("Limit",
			json_number_value(json_object_get(step, "time_limit_s")) > 0 ? duration_of(step, "time_limit_s").s : "");
	show_line_print("Exit", format_row_exit(step).s);
	show_line_print("Cause", format_text(step, "cause"));
	show_line_print("Reason", show_line_reason(step));
	show_step_hooks(step, false);
	timer_print(json_object_get(step, "checkpoint_timer"));
	show_step_lives(step, false);
	show_line_print("Sub-steps", format_substeps(json_object_get(step, "substeps")).s);
	show_line_print("Input", input ? input : "");
	show_line_print("Output", output ? output : "");
	show_line_print("Error", error ? error : "");
	checkpointing_print(step);
	show_line_print("Open mode", strcmp(format_text(step, "open_mode"), "append") ? "" : "append");
	free(error);
	free(input);
	free(output);
	free(after);
	free(words);
}
