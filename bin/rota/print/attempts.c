/* attempts.c - makes a row of each attempt of a step, and prints a table: when and where an attempt ran, how it ended, from which
 * checkpoint it went on, which file has its output. */
#include "bin/rota/print/attempts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bin/rota/print/format.h"
#include "bin/rota/output/output.h"
#include "bin/rota/print/table.h"
#include "lib/err.h"

static json_t *row_make(const json_t *step, const json_t *attempt)
{
	json_t *row = json_copy((json_t *)step);

	json_object_update(row, (json_t *)attempt);
	json_object_del(row, "attempts");
	return row;
}

bool attempts_is_unstarted(const json_t *step)
{
	bool earlier = json_array_size(json_object_get(step, "attempts"));

	return !json_is_object(json_object_get(step, "array")) && !json_integer_value(json_object_get(step, "attempt")) &&
	       (earlier || format_state_final(format_text(step, "state")));
}

void attempts_add(json_t *rows, const json_t *step)
{
	const json_t *attempts = json_object_get(step, "attempts"), *attempt;
	size_t i;

	if (json_array_size(attempts) < 2 && !attempts_is_unstarted(step))
		return;
	json_array_foreach (attempts, i, attempt)
		json_array_append_new(rows, row_make(step, attempt));
}

json_t *attempts_row(const json_t *step, json_int_t number)
{
	const json_t *attempt;
	size_t i;

	json_array_foreach (json_object_get(step, "attempts"), i, attempt)
		if (json_integer_value(json_object_get(attempt, "attempt")) == number)
			return row_make(step, attempt);
	return NULL;
}

/* Add the path of an attempt's output file, relative to the working directory if the file is below that. */
static void output_cell(struct table *table, const json_t *job, const json_t *row)
{
	const char *folder = format_text(row, "workdir")[0] ? format_text(row, "workdir") : format_text(job, "workdir");
	char *path = json_is_string(json_object_get(row, "started_at")) ? output_path(job, row, "output") : NULL;
	size_t length = strlen(folder);
	bool inside = path && length && !strncmp(path, folder, length) && path[length] == '/' && path[length + 1];

	table_cell(table, !path ? "" : inside ? path + length + 1 : path);
	free(path);
}

/* Add a cell with the cause of an attempt's end and, if it was preempted, the step for which. */
static void cause_cell(struct table *table, const json_t *row)
{
	const char *cause = format_text(row, "cause"), *by = format_text(row, "preempted_by");
	char *text = xasprintf("%s%s%s", cause, *cause && *by ? " by " : "", *cause ? by : "");

	table_cell(table, text);
	free(text);
}

static void row_add(struct table *table, const json_t *job, const json_t *row)
{
	const char *state = format_text(row, "state"), *label = format_text(row, "label"), *dot = strchr(label, '.');

	table_cell(table, dot ? dot + 1 : label);
	table_cell(table, format_count(json_object_get(row, "attempt")).s);
	table_cell_coloured(table, state, format_state_colour(state));
	table_cell(table, format_when(json_object_get(row, "started_at")).s);
	table_cell(table, format_when(json_object_get(row, "ended_at")).s);
	table_cell(table, format_ran(row).s);
	table_cell(table, format_row_exit(row).s);
	cause_cell(table, row);
	table_cell(table, format_count(json_object_get(row, "from_generation")).s);
	table_cell(table, format_text(row, "nodes"));
	output_cell(table, job, row);
}

void attempts_print(const json_t *job, const json_t *rows, bool wide)
{
	static const struct table_column COLUMNS[] = {
		{"STEP", false, 10},	 {"ATTEMPT", true, 0}, {"STATE", false, 0},   {"STARTED", false, 0},
		{"ENDED", false, 0},	 {"TIME", true, 0},    {"EXIT", true, 1},     {"CAUSE", false, 6},
		{"CHECKPOINT", true, 4}, {"NODES", false, 5},  {"OUTPUT", false, 12},
	};
	struct table *table;
	const json_t *row;
	size_t i;

	if (!json_array_size(rows))
		return;
	table = table_new(COLUMNS, sizeof(COLUMNS) / sizeof(COLUMNS[0]));
	json_array_foreach (rows, i, row)
		row_add(table, job, row);
	putchar('\n');
	table_print(table, stdout, wide);
	table_free(table);
}
