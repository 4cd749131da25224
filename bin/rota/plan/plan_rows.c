/* plan_rows.c - prints the rows of `rota plan`.
 *
 * Called by: `rota plan`.
 * Invariants:
 *  - Table, JSON and page have the same rows: page and table are made from the objects that --json prints. */
#include "bin/rota/plan/plan_rows.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "bin/rota/print/format.h"
#include "bin/rota/print/table.h"
#include "bin/rota/report/report.h"
#include "lib/err.h"
#include "lib/text.h"

static const char *row_verdict(const struct plan_row *row, bool changed)
{
	if (!changed)
		return isnan(row->after) ? "not known" : "";
	if (row->step->job == 0)
		return isnan(row->after) ? "new, not known" : "new";
	if (isnan(row->before) || isnan(row->after))
		return isnan(row->before) == isnan(row->after) ? "not known"
		       : isnan(row->after)		       ? "never, or not known"
							       : "earlier";
	return fabs(row->after - row->before) < 1 ? "same" : row->after < row->before ? "earlier" : "later";
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

static json_t *row_json(const struct plan_row *row, bool changed)
{
	int64_t limit = row->step->time_limit_s;
	char label[512];

	label_write(row->step, label, sizeof label);
	return json_pack("{s:s, s:s, s:o, s:o, s:s, s:s, s:o}", "label", label, "partition", row->step->partition, "expected_at",
			 time_json(changed ? row->before : row->after), "then_at", time_json(row->after), "verdict",
			 row_verdict(row, changed), "message", row->message ? row->message : "", "time_limit_s",
			 limit > 0 ? json_integer(limit) : json_null());
}

/* Returns the rows as a list of objects. */
static json_t *rows_list(const struct plan_rows *rows)
{
	json_t *list = json_array();

	for (size_t i = 0; i < rows->count; i++)
		json_array_append_new(list, row_json(&rows->list[i], rows->changed));
	return list;
}

void plan_rows_table(const struct plan_rows *rows)
{
	static const struct table_column columns[] = {{"STEP", false, 8}, {"PARTITION", false, 5}, {"EXPECTED", false, 0},
						      {"THEN", false, 0}, {"", false, 0},	   {"WHY", false, 12}};
	struct table *table = table_new(columns, sizeof columns / sizeof *columns);
	json_t *list = rows_list(rows), *row;
	size_t i;

	json_array_foreach (list, i, row) {
		bool is_new = rows->list[i].step->job == 0;

		table_cell(table, format_text(row, "label"));
		table_cell(table, format_text(row, "partition"));
		table_cell(table, is_new ? "-" : format_when(json_object_get(row, "expected_at")).s);
		table_cell(table, rows->changed ? format_when(json_object_get(row, "then_at")).s : "-");
		table_cell(table, format_text(row, "verdict"));
		table_cell(table, format_text(row, "message"));
	}
	if (rows->count == 0)
		puts("nothing waits for resources");
	else
		table_print(table, stdout, false);
	table_free(table);
	json_decref(list);
}

void plan_rows_json(const struct plan_rows *rows)
{
	json_t *answer = json_pack("{s:o}", "steps", rows_list(rows));

	json_dumpf(answer, stdout, JSON_INDENT(2));
	puts("");
	json_decref(answer);
}

/* Returns the columns of the page's table, as a report has them. */
static json_t *columns_json(bool changed)
{
	static const struct {
		const char *name, *title, *unit, *help;
		bool compared; /* the column is only shown where plans are compared */
	} columns[] = {
		{"label", "step", "text", "Job and name of the step; in parentheses: of a script that is not submitted.", false},
		{"partition", "partition", "text", "Partition of the step.", false},
		{"expected_at", "expected", "time", "Expected start.", false},
		{"then_at", "then", "time", "Expected start after the changes.", true},
		{"verdict", "verdict", "text", "What the changes mean for the start.", true},
		{"time_limit_s", "time limit", "s", "Time limit of the step.", false},
		{"message", "why", "text", "Why the step does not start now.", false},
	};
	json_t *list = json_array();

	for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
		if (changed || !columns[i].compared)
			json_array_append_new(list,
					      json_pack("{s:s, s:s, s:s, s:s}", "name", columns[i].name, "title",
							columns[i].title, "unit", columns[i].unit, "help", columns[i].help));
	return list;
}

bool plan_rows_page(const struct plan_rows *rows, const char *changes, const char *path)
{
	char *title = xasprintf("%s%s", *changes ? "Plan with " : "Plan", changes);
	json_t *answer;
	bool good;

	text_clean(title); /* JSON is UTF-8, and a file name need not be */
	answer = json_pack("{s:s, s:s, s:o, s:b, s:s, s:o, s:o, s:s}", "report", "plan", "title", title, "now",
			   time_json(rows->now), "compared", rows->changed, "period", "hour", "columns",
			   columns_json(rows->changed), "rows", rows_list(rows), "empty", "Nothing waits for resources.");
	good = report_page(path, answer);
	json_decref(answer);
	free(title);
	return good;
}
