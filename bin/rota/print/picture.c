/* picture.c - draws a job's DAG for `rota watch`: one line for each step, indented by depth, below the steps that it waits
 * for.
 *
 * A picture never has more lines than the terminal. If not all steps fit, running steps come first, then failed steps, then
 * pending steps, then the last completed steps. The other steps are only counted. A picture is drawn over the old one, so
 * nothing flickers. */
#include "bin/rota/print/picture.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "bin/rota/print/format.h"
#include "bin/rota/print/outcome.h"
#include "bin/rota/print/peers.h"
#include "bin/rota/print/table.h"
#include "lib/err.h"
#include "lib/text.h"

enum { BAR = 20, DEEPEST = 8, LEAST_NAME = 26, LEAST_STATE = 10, TIME = 8, LEAST_DETAIL = 16 };

static int drawn; /* lines of the picture on the screen */

struct step {
	const json_t *row;
	int id, depth;
	bool shown;
};

struct steps {
	struct step *list;
	size_t count;
	const json_t *edges;
	int name_width, state_width; /* screen columns of the step names with their indents, and of the step states */
};

static int by_depth(const void *a, const void *b)
{
	const struct step *x = a, *y = b;

	return x->depth != y->depth ? x->depth - y->depth : x->id - y->id;
}

static int by_id(const void *a, const void *b)
{
	return ((const struct step *)a)->id - ((const struct step *)b)->id;
}

static struct step *step_find(struct steps *s, int id)
{
	struct step key = {.id = id};

	return bsearch(&key, s->list, s->count, sizeof(key), by_id);
}

/* Raise the depth of a step to at least `depth`. Returns true if the depth changed. */
static bool step_deepen(struct step *step, int depth)
{
	if (step->depth >= depth)
		return false;
	step->depth = depth;
	return true;
}

/* Set the depth of each step: the longest chain of dependencies from a step without any. Steps that run with each other have
 * the same depth. Edges come in script order, so few rounds are needed. */
static void depths(struct steps *s)
{
	bool moved = true;

	for (size_t round = 0; moved && round < s->count; round++) {
		const json_t *edge;
		size_t i;

		moved = false;
		json_array_foreach (s->edges, i, edge) {
			struct step *from = step_find(s, (int)json_integer_value(json_object_get(edge, "from")));
			struct step *to = step_find(s, (int)json_integer_value(json_object_get(edge, "to")));

			if (!from || !to)
				continue;
			if (!strcmp(format_text(edge, "kind"), "after"))
				moved |= step_deepen(to, from->depth + 1);
			else if (!strcmp(format_text(edge, "kind"), "with"))
				moved |= step_deepen(to, from->depth) | step_deepen(from, to->depth);
		}
	}
}

static int step_indent(const struct step *step)
{
	return 2 * (step->depth < DEEPEST ? step->depth : DEEPEST);
}

/* Returns the label of a step without its job. */
static const char *step_name(const struct step *step)
{
	const char *label = format_text(step->row, "label"), *dot = strchr(label, '.');

	return dot ? dot + 1 : label;
}

static int longer(int width, int other)
{
	return width > other ? width : other;
}

/* Set the widths of the columns: that of the longest state, and that of the longest name, as far as the terminal has room. */
static void widths(struct steps *s)
{
	int room;

	s->name_width = LEAST_NAME;
	s->state_width = LEAST_STATE;
	for (size_t i = 0; i < s->count; i++) {
		s->name_width = longer(s->name_width, step_indent(&s->list[i]) + (int)strlen(step_name(&s->list[i])));
		s->state_width = longer(s->state_width, (int)strlen(format_text(s->list[i].row, "state")));
	}
	room = longer(LEAST_NAME, table_width() - s->state_width - TIME - LEAST_DETAIL);
	s->name_width = s->name_width < room ? s->name_width : room;
}

static struct steps steps_read(const json_t *job)
{
	const json_t *rows = json_object_get(job, "steps"), *row;
	struct steps s = {.list = xcalloc(json_array_size(rows) + 1, sizeof(struct step)),
			  .edges = json_object_get(job, "edges")};
	size_t i;

	json_array_foreach (rows, i, row)
		s.list[s.count++] = (struct step){row, (int)json_integer_value(json_object_get(row, "step_id")), 0, false};
	qsort(s.list, s.count, sizeof(*s.list), by_id);
	depths(&s);
	qsort(s.list, s.count, sizeof(*s.list), by_depth);
	widths(&s);
	return s;
}

static int screen_lines(void)
{
	struct winsize size;

	return !ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) && size.ws_row > 4 ? size.ws_row : 24;
}

/* Returns the order in which steps are shown: 0 for a running step, 1 failed, 2 pending, 3 completed. */
static int rank(const json_t *row)
{
	const char *state = format_text(row, "state");

	if (!format_state_final(state))
		return strcmp(state, "pending") ? 0 : 2;
	return format_state_good(state) ? 3 : 1;
}

/* Mark the steps that fit in `room` lines. Returns the number of steps that do not fit. */
static size_t steps_choose(struct steps *s, size_t room)
{
	size_t left = room < s->count ? room : s->count, hidden = s->count - left;

	for (int r = 0; r < 4 && left; r++) {
		for (size_t i = 0; i < s->count && left; i++) {
			/* the screen has no room for all completed steps: show the last ones */
			struct step *step = &s->list[r == 3 ? s->count - 1 - i : i];

			if (step->shown || rank(step->row) != r)
				continue;
			step->shown = true;
			left--;
		}
	}
	return hidden;
}

/* Returns true if signs for steps and bars must be ASCII, because the locale has no other characters. */
static bool plain(void)
{
	return MB_CUR_MAX == 1;
}

/* Draw a bar of the shares `done` and `failed` of `all`. */
static void bar_draw(FILE *out, double done, double failed, double all)
{
	int full = all > 0 ? (int)floor(done / all * BAR) : 0;
	int bad = all > 0 ? (int)ceil(failed / all * BAR) : 0;

	fputs("\033[32m", out);
	for (int i = 0; i < BAR; i++) {
		if (i == full)
			fputs("\033[31m", out);
		if (i == full + bad)
			fputs("\033[2;39m", out);
		fputs(plain() ? i < full + bad ? "#" : "-" : i < full + bad ? "━" : "─", out);
	}
	fputs("\033[0m", out);
}

static double number(const json_t *object, const char *key)
{
	return json_number_value(json_object_get(object, key));
}

/* Returns the seconds that a step or a job has run: the figure of jobmgrd if its tasks have ended or are suspended, else the
 * time since its start by the clock of this machine. */
static double elapsed(const json_t *row)
{
	const char *started = json_string_value(json_object_get(row, "started_at")), *state = format_text(row, "state");
	double at, ran;

	if (json_is_string(json_object_get(row, "ended_at")) || !strcmp(state, "suspended") || !strcmp(state, "ending") ||
	    !started || !format_time_parse(started, &at))
		return format_ran_seconds(row);
	ran = (double)time(NULL) - at - number(row, "suspended_s");
	return ran > 0 ? ran : 0;
}

/* Returns the sign before the name of a step in this state. */
static const char *state_mark(const char *state)
{
	if (plain())
		return !strcmp(state, "completed")   ? "+"
		       : !strcmp(state, "skipped")   ? "-"
		       : format_state_final(state)   ? "x"
		       : !strcmp(state, "suspended") ? "="
		       : !strcmp(state, "pending")   ? "."
						     : ">";
	if (!strcmp(state, "completed"))
		return "✔";
	if (!strcmp(state, "skipped"))
		return "↷";
	if (format_state_final(state))
		return "✘";
	if (!strcmp(state, "suspended"))
		return "‖";
	return strcmp(state, "pending") ? "▶" : "·";
}

/* Draw the progress of a step's sub-steps, and their numbers by state. */
static void substeps_draw(FILE *out, const json_t *totals)
{
	double ended = number(totals, "ended"), failed = number(totals, "failed");
	struct word counts = format_substeps(totals);

	if (!*counts.s)
		return;
	bar_draw(out, ended - failed > 0 ? ended - failed : 0, failed,
		 ended + number(totals, "running") + number(totals, "waiting"));
	fprintf(out, " %s ", counts.s);
}

/* Print the text after a step's state: progress of an array and of sub-steps, then message or nodes, or for a pending step, what
 * the step waits for. */
static void detail(FILE *out, const json_t *row)
{
	const json_t *array = json_object_get(row, "array");
	const char *state = format_text(row, "state");
	char *peers;

	if (json_is_object(array)) {
		bar_draw(out, number(array, "completed"), number(array, "failed"), number(array, "size"));
		fprintf(out, " %.0f/%.0f ", number(array, "completed") + number(array, "failed"), number(array, "size"));
	}
	substeps_draw(out, json_object_get(row, "substeps"));
	if (strcmp(state, "pending")) {
		fputs(format_text(row, format_text(row, "message")[0] ? "message" : "nodes"), out);
		return;
	}
	peers = peers_text(row, true);
	fputs(peers[0] ? peers : format_text(row, "reason"), out);
	free(peers);
}

/* Print a line, cut to the width of the terminal. Escape sequences have no width. */
static void line_end(FILE *screen, const char *text)
{
	int room = table_width();

	while (*text && room > 0) {
		size_t bytes = *text == '\033' ? strcspn(text, "m") + 1 : table_text_fit(text, 1);

		if (*text != '\033')
			room--;
		fwrite(text, 1, bytes ? bytes : 1, screen);
		text += bytes ? bytes : 1;
	}
	fputs("\033[0m\033[K\n", screen);
	drawn++;
}

/* Print a name in its column. A name that was cut ends in "~", as in tables. */
static void name_draw(FILE *out, const char *name, int room)
{
	if ((int)strlen(name) > room)
		fprintf(out, "%.*s~ ", room - 1, name);
	else
		fprintf(out, "%-*s ", room, name);
}

static void step_draw(FILE *screen, const struct steps *s, const struct step *step)
{
	const char *state = format_text(step->row, "state");
	int indent = step_indent(step);
	char *line = NULL;
	size_t size;
	FILE *out = open_memstream(&line, &size);

	if (!out)
		die("out of memory");
	fprintf(out, "%*s\033[%sm%s\033[0m ", indent, "", format_state_colour(state), state_mark(state));
	name_draw(out, step_name(step), s->name_width - indent);
	fprintf(out, "\033[%sm%-*s\033[0m %*s  ", format_state_colour(state), s->state_width, state, TIME,
		format_duration(elapsed(step->row)).s);
	detail(out, step->row);
	if (fclose(out))
		die("out of memory");
	line_end(screen, line);
	free(line);
}

static void head_draw(FILE *screen, const json_t *job)
{
	double done = number(job, "steps_done"), failed = number(job, "steps_failed"), all = number(job, "steps_total");
	const char *name = format_text(job, "name");
	size_t fits = table_text_fit(name, LEAST_NAME);
	char *line = NULL, *words = outcome_words(job);
	size_t size;
	FILE *out = open_memstream(&line, &size);

	if (!out)
		die("out of memory");
	/* A long job name leaves screen columns for the job's state. */
	fprintf(out, "\033[1mjob %.0f %.*s%s\033[0m  \033[%sm%s\033[0m  ", number(job, "job_id"), (int)fits, name,
		name[fits] ? "~" : "", format_state_colour(format_text(job, "state")), words);
	bar_draw(out, done - failed > 0 ? done - failed : 0, failed, all);
	fprintf(out, " %.0f/%.0f steps  %s", done, all, format_duration(elapsed(job)).s);
	if (fclose(out))
		die("out of memory");
	line_end(screen, line);
	free(words);
	free(line);
}

/* Begin to draw over the last picture. Returns the stream for the drawing. picture_show() prints and frees the text of the
 * stream. */
static FILE *picture_begin(char **text, size_t *size)
{
	FILE *screen = open_memstream(text, size);

	if (!screen)
		die("out of memory");
	if (drawn)
		fprintf(screen, "\033[%dA", drawn);
	fputs("\033[?25l\r", screen);
	drawn = 0;
	return screen;
}

static void picture_show(FILE *screen, char **text, const size_t *size)
{
	fputs("\033[J", screen);
	if (fclose(screen))
		die("out of memory");
	fwrite(*text, 1, *size, stdout);
	fflush(stdout);
	free(*text);
}

void picture_draw(const json_t *job)
{
	struct steps s = steps_read(job);
	char *text, rest[64];
	size_t size, hidden = steps_choose(&s, (size_t)picture_room() - 2);
	FILE *screen = picture_begin(&text, &size);

	head_draw(screen, job);
	for (size_t i = 0; i < s.count; i++)
		if (s.list[i].shown)
			step_draw(screen, &s, &s.list[i]);
	if (hidden) {
		snprintf(rest, sizeof(rest), "  ... and %zu more step%s", hidden, text_plural((int64_t)hidden));
		line_end(screen, rest);
	}
	picture_show(screen, &text, &size);
	free(s.list);
}

void picture_text(const char *lines)
{
	char *text, *line;
	size_t size;
	FILE *screen = picture_begin(&text, &size);

	for (const char *at = lines, *end; *at; at = *end ? end + 1 : end) {
		end = at + strcspn(at, "\n");
		line = xstrndup(at, (size_t)(end - at));
		line_end(screen, line);
		free(line);
	}
	picture_show(screen, &text, &size);
}

int picture_room(void)
{
	return screen_lines() - 1;
}

void picture_forget(void)
{
	drawn = 0;
}

void picture_leave(void)
{
	static const char SHOW_CURSOR[] = "\033[?25h";

	if (drawn && write(STDOUT_FILENO, SHOW_CURSOR, sizeof(SHOW_CURSOR) - 1) < 0)
		_exit(1);
}
