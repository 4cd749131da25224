/* report_print.c - a report on the terminal: a table, a bar behind each row; of a job, when each step waited and ran. */
#include <stdlib.h>
#include <string.h>

#include "bin/rota/report.h"
#include "bin/rota/table.h"
#include "lib/err.h"

enum { MOST_COLUMNS = 24, BAR = 20 };

struct word report_word(const json_t *value, const char *unit)
{
	struct word w = {"-"};

	if (json_is_string(value))
		snprintf(w.s, sizeof(w.s), "%s", json_string_value(value));
	else if (!json_is_number(value))
		return w;
	else if (!strcmp(unit, "s"))
		return format_duration(json_number_value(value));
	else if (!strcmp(unit, "mib"))
		return format_size_mb(value);
	else if (!strcmp(unit, "percent"))
		snprintf(w.s, sizeof(w.s), "%.1f%%", json_number_value(value));
	else if (json_is_integer(value))
		return format_count(value);
	else
		snprintf(w.s, sizeof(w.s), "%.2f", json_number_value(value));
	return w;
}

static bool is_words(const char *unit)
{
	return !strcmp(unit, "text") || !strcmp(unit, "time");
}

/* From column `from` to `to` of `width`, both of 0 to 1: at least one character. */
static char *bar(double from, double to, int width)
{
	int begin = (int)(from * width), end = (int)(to * width + 0.5);
	char *text = xcalloc((size_t)width * 3 + 8, 1), *at = text;

	end = end > width ? width : end;
	begin = begin >= width ? width - 1 : begin;
	if (end <= begin && to > 0)
		end = begin + 1;
	for (int i = 0; i < end; i++)
		at = stpcpy(at, i < begin ? " " : MB_CUR_MAX > 1 ? "\u2588" : "#");
	return text;
}

static double most(const json_t *rows, const char *name)
{
	double highest = 0;
	const json_t *row;
	size_t i;

	json_array_foreach (rows, i, row) {
		double value = json_number_value(json_object_get(row, name));

		highest = value > highest ? value : highest;
	}
	return highest;
}

static double seconds(const json_t *object, const char *name, double otherwise)
{
	double at;

	return format_time_parse(format_text(object, name), &at) ? at : otherwise;
}

/* When a step ran, within the life of its job. */
static char *job_bar(const json_t *job, const json_t *row)
{
	double now = seconds(job, "now", 0), begin = seconds(job, "submit_at", now), end = seconds(job, "ended_at", now);
	double started = seconds(row, "started_at", -1), ended = seconds(row, "ended_at", now),
	       length = end > begin ? end - begin : 1;

	return started < 0 ? xstrdup("") : bar((started - begin) / length, (ended - begin) / length, BAR);
}

static char *row_bar(const json_t *answer, const json_t *row, double highest)
{
	const char *name = format_text(answer, "bar");
	double value = json_number_value(json_object_get(row, name));

	if (!*name)
		return job_bar(answer, row);
	return value > 0 && highest > 0 ? bar(0, value / highest, BAR) : xstrdup("");
}

static void row_print(struct table *table, const json_t *answer, const json_t *row, double highest)
{
	const json_t *column;
	char *text;
	size_t c;

	json_array_foreach (json_object_get(answer, "columns"), c, column) {
		const char *name = format_text(column, "name"), *unit = format_text(column, "unit");
		const char *words = is_words(unit) ? json_string_value(json_object_get(row, name)) : NULL;

		if (words)
			table_cell_coloured(table, words, !strcmp(name, "state") ? format_state_colour(words) : "");
		else
			table_cell(table, report_word(json_object_get(row, name), unit).s);
	}
	text = row_bar(answer, row, highest);
	table_cell_coloured(table, text, "36");
	free(text);
}

static void edges_print(const json_t *edges)
{
	const json_t *edge;
	size_t i;

	json_array_foreach (edges, i, edge)
		printf("%s%s %s %s (%s)\n", i ? "" : "\n", format_text(edge, "to"), format_text(edge, "kind"),
		       format_text(edge, "from"),
		       !strcmp(format_text(edge, "kind"), "after") ? format_text(edge, "condition") : format_text(edge, "state"));
}

void report_print(const json_t *answer, bool wide)
{
	const json_t *columns = json_object_get(answer, "columns"), *rows = json_object_get(answer, "rows"), *column, *row;
	const char *name = format_text(answer, "bar");
	bool of_job = !*name;
	double highest = of_job ? 0 : most(rows, name);
	struct table_column shown[MOST_COLUMNS + 1];
	struct table *table;
	int count = 0;
	size_t i;

	json_array_foreach (columns, i, column) {
		bool words = is_words(format_text(column, "unit"));

		if (count < MOST_COLUMNS)
			shown[count++] = (struct table_column){format_text(column, "title"), !words, words ? 4 : 0};
	}
	shown[count++] = (struct table_column){of_job ? "WHEN" : "", false, 0};
	table = table_new(shown, count);
	json_array_foreach (rows, i, row)
		row_print(table, answer, row, highest);
	printf("%s", format_text(answer, "title"));
	if (of_job)
		printf(", of %s: %s\n\n", format_text(answer, "user"), format_text(answer, "state"));
	else
		printf("\nfrom %s to %s\n\n", format_time(json_object_get(answer, "since")).s,
		       format_time(json_object_get(answer, "until")).s);
	table_print(table, stdout, wide);
	edges_print(json_object_get(answer, "edges"));
	table_free(table);
}
