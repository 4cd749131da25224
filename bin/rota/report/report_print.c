/* report_print.c - prints a report on the terminal: a table with a bar after each row. For a job, the bars show when each step
 * ran, when it was saved, and when it was preempted.
 *
 * Bars take the width that the other columns leave. With too little width, there are no bars. Numbers and times are never cut. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bin/rota/print/attempts.h"
#include "bin/rota/report/report.h"
#include "bin/rota/print/table.h"
#include "lib/err.h"

enum { MOST_COLUMNS = 24, BAR = 20, LEAST_BAR = 5, LEAST_WORD = 8 };

/* A cell of a bar. */
enum cell { CELL_EMPTY, CELL_FULL, CELL_CHECKPOINT, CELL_PREEMPTION, CELLS };

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
	else if (!strcmp(unit, "number") && json_number_value(value) > 0 && json_number_value(value) < 0.001)
		snprintf(w.s, sizeof(w.s), "<0.001");
	else if (!strcmp(unit, "number"))
		snprintf(w.s, sizeof(w.s), json_number_value(value) >= 1000 ? "%.0f" : "%g", json_number_value(value));
	else if (!strcmp(unit, "h") || !strcmp(unit, "money"))
		snprintf(w.s, sizeof(w.s), "%.2f", json_number_value(value));
	else if (json_is_integer(value))
		return format_count(value);
	else
		snprintf(w.s, sizeof(w.s), "%.2f", json_number_value(value));
	return w;
}

/* Shorten the time of an hour, "2025-11-20T14:00:00+00:00", to "2025-11-20 14:00Z". Days and months stay as they are. */
static struct word when_word(const char *time)
{
	struct word w;

	if (strlen(time) == sizeof("2025-11-20T14:00:00+00:00") - 1 && !strcmp(time + 16, ":00+00:00"))
		snprintf(w.s, sizeof(w.s), "%.10s %.5sZ", time, time + 11);
	else
		snprintf(w.s, sizeof(w.s), "%s", time);
	return w;
}

static bool is_words(const char *unit)
{
	return !strcmp(unit, "text") || !strcmp(unit, "time");
}

static const char *cell_text(enum cell cell)
{
	static const char *const drawn[CELLS] = {" ", "\u2588", "\u25c6", "\u00d7"}, *const ascii[CELLS] = {" ", "#", "o", "x"};

	return MB_CUR_MAX > 1 ? drawn[cell] : ascii[cell];
}

/* Returns the text of a bar, without the empty cells at its end. */
static char *cells_text(const enum cell *cells, int width)
{
	char *text = xcalloc((size_t)width * 3 + 8, 1), *at = text;

	while (width > 0 && cells[width - 1] == CELL_EMPTY)
		width--;
	for (int i = 0; i < width; i++)
		at = stpcpy(at, cell_text(cells[i]));
	return text;
}

static int cell_index(int width, double at)
{
	int index = (int)(at * width);

	return index >= width ? width - 1 : index < 0 ? 0 : index;
}

/* Fill the cells of a bar from fraction `from` to fraction `to` of its width, at least one cell. */
static void cells_fill(enum cell *cells, int width, double from, double to)
{
	int begin = cell_index(width, from), end = (int)(to * width + 0.5);

	end = end > width ? width : end <= begin ? begin + 1 : end;
	for (int i = begin; i < end; i++)
		cells[i] = CELL_FULL;
}

/* Put a mark at fraction `at` of a bar. If that cell has a mark, the cell before it gets this one: a step that is preempted is saved at once. */
static void cells_mark(enum cell *cells, int width, double at, enum cell mark)
{
	int index = cell_index(width, at);

	if (cells[index] > CELL_FULL && index > 0 && cells[index - 1] == CELL_FULL)
		index--;
	if (cells[index] <= CELL_FULL)
		cells[index] = mark;
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

/* The life of a job, of which a bar shows a step. */
struct life {
	double begin, length, now;
};

static struct life job_life(const json_t *job)
{
	double now = seconds(job, "now", 0), begin = seconds(job, "submit_at", now), end = seconds(job, "ended_at", now);

	return (struct life){begin, end > begin ? end - begin : 1, now};
}

/* Put a mark into the bar of a step for each row of this step in `list` that has the time `name`. */
static void job_marks(enum cell *cells, int width, const struct life *life, const json_t *row, const json_t *list,
		      const char *name, enum cell mark)
{
	const json_t *one;
	size_t i;

	json_array_foreach (list, i, one) {
		double at = seconds(one, name, -1);

		if (at >= 0 && json_equal(json_object_get(one, "step_id"), json_object_get(row, "step_id")))
			cells_mark(cells, width, (at - life->begin) / life->length, mark);
	}
}

/* Returns a bar that shows when each attempt of a step ran within the life of its job, when it was preempted and when it was saved. */
static char *job_bar(const json_t *job, const json_t *row, int width)
{
	struct life life = job_life(job);
	double started = seconds(row, "started_at", -1);
	enum cell cells[BAR] = {CELL_EMPTY};
	const json_t *one;
	size_t i;

	json_array_foreach (json_object_get(job, "attempts"), i, one) {
		double from = seconds(one, "started_at", -1);

		if (json_equal(json_object_get(one, "step_id"), json_object_get(row, "step_id")) && from >= 0)
			cells_fill(cells, width, (from - life.begin) / life.length,
				   (seconds(one, "ended_at", life.now) - life.begin) / life.length);
	}
	if (started >= 0)
		cells_fill(cells, width, (started - life.begin) / life.length,
			   (seconds(row, "ended_at", life.now) - life.begin) / life.length);
	job_marks(cells, width, &life, row, json_object_get(job, "held"), "preempted_at", CELL_PREEMPTION);
	job_marks(cells, width, &life, row, json_object_get(job, "checkpoints"), "complete_at", CELL_CHECKPOINT);
	return cells_text(cells, width);
}

/* Does a row of the list have this member? */
static bool list_has(const json_t *list, const char *name)
{
	const json_t *one;
	size_t i;

	json_array_foreach (list, i, one)
		if (!json_is_null(json_object_get(one, name)) && json_object_get(one, name))
			return true;
	return false;
}

/* Print what the marks in the bars mean, if there are any. */
static void legend_print(const json_t *job)
{
	bool saved = list_has(json_object_get(job, "checkpoints"), "complete_at"),
	     preempted = list_has(json_object_get(job, "held"), "preempted_at");

	if (saved || preempted)
		putchar('\n');
	if (saved)
		printf("%s checkpoint%s", cell_text(CELL_CHECKPOINT), preempted ? "   " : "\n");
	if (preempted)
		printf("%s preempted\n", cell_text(CELL_PREEMPTION));
}

static char *row_bar(const json_t *answer, const json_t *row, double highest, int width)
{
	const char *name = format_text(answer, "bar");
	double value = json_number_value(json_object_get(row, name));
	enum cell cells[BAR] = {CELL_EMPTY};

	if (!*name)
		return job_bar(answer, row, width);
	if (value > 0 && highest > 0)
		cells_fill(cells, width, 0, value / highest);
	return cells_text(cells, width);
}

/* Returns the columns that have a value in at least one row, or all if there are no rows. So figures that no node measures take
 * no width. */
static json_t *columns_known(const json_t *answer)
{
	const json_t *rows = json_object_get(answer, "rows"), *row;
	json_t *known = json_array(), *column;
	size_t c, i;

	json_array_foreach (json_object_get(answer, "columns"), c, column) {
		bool has_value = !json_array_size(rows);

		json_array_foreach (rows, i, row)
			has_value = has_value || !json_is_null(json_object_get(row, format_text(column, "name")));
		if (has_value)
			json_array_append(known, column);
	}
	return known;
}

static void row_print(struct table *table, const json_t *shown, const json_t *row)
{
	const json_t *column;
	size_t c;

	json_array_foreach (shown, c, column) {
		const char *name = format_text(column, "name"), *unit = format_text(column, "unit");
		const char *words = is_words(unit) ? json_string_value(json_object_get(row, name)) : NULL;

		if (words && !strcmp(unit, "time"))
			table_cell(table, when_word(words).s);
		else if (words)
			table_cell_coloured(table, words, !strcmp(name, "state") ? format_state_colour(words) : "");
		else
			table_cell(table, report_word(json_object_get(row, name), unit).s);
	}
}

/* Make the table of a report with bars of `bar_width` characters; 0: without bars. */
static struct table *table_make(const json_t *answer, const json_t *shown, const struct table_column *columns, int count,
				int bar_width)
{
	const json_t *rows = json_object_get(answer, "rows"), *row;
	double highest = most(rows, format_text(answer, "bar"));
	struct table *table = table_new(columns, bar_width ? count : count - 1);
	size_t i;

	json_array_foreach (rows, i, row) {
		char *text = bar_width ? row_bar(answer, row, highest, bar_width) : NULL;

		row_print(table, shown, row);
		if (text)
			table_cell_coloured(table, text, "36");
		free(text);
	}
	return table;
}

/* Returns how long bars can be after the rows of the table; 0: there is no width for bars. */
static int bar_room(const struct table *table, bool wide)
{
	int room = table_width() - table_needs(table) - 2;

	if (wide || !table_width() || room > BAR)
		return BAR;
	return room < LEAST_BAR ? 0 : room;
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
	json_t *shown = columns_known(answer);
	const json_t *column;
	bool of_job = !*format_text(answer, "bar");
	struct table_column columns[MOST_COLUMNS + 1];
	struct table *table;
	int count = 0, bar_width;
	size_t i;

	json_array_foreach (shown, i, column) {
		const char *unit = format_text(column, "unit");

		if (count < MOST_COLUMNS)
			columns[count++] = (struct table_column){format_text(column, "title"), !is_words(unit),
								 strcmp(unit, "text") ? 0 : LEAST_WORD};
	}
	columns[count++] = (struct table_column){of_job ? "WHEN" : "", false, 0};
	table = table_make(answer, shown, columns, count, 0);
	bar_width = bar_room(table, wide);
	if (bar_width) {
		table_free(table);
		table = table_make(answer, shown, columns, count, bar_width);
	}
	printf("%s", format_text(answer, "title"));
	if (of_job)
		printf(", of %s: %s\n\n", format_text(answer, "user"), format_text(answer, "state"));
	else
		printf("\nfrom %s to %s\n\n", format_time(json_object_get(answer, "since")).s,
		       format_time(json_object_get(answer, "until")).s);
	if (json_array_size(json_object_get(answer, "rows")) == 0 && *format_text(answer, "empty"))
		puts(format_text(answer, "empty"));
	else
		table_print(table, stdout, wide);
	if (of_job && bar_width)
		legend_print(answer);
	edges_print(json_object_get(answer, "edges"));
	attempts_print(answer, json_object_get(answer, "attempts"), wide);
	table_free(table);
	json_decref(shown);
}
