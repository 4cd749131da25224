/* screen_restore.c - writes the sequences by which the terminal of a client shows the same screen as the model.
 *
 * Called by: viewer.c.
 * Invariants: the client's terminal may be in any state before, except within a sequence. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "procmgr/terminal/screen_parts.h"

/* A row of cells while it is being painted on the client's terminal. */
struct painting {
	const struct screen *s;
	struct evbuffer *out;
	struct screen_pen pen;
	int col; /* column of the client's cursor; -1: not known */
};

static void put_pen(struct painting *p, const struct screen_pen *pen)
{
	char old[128], text[128];
	screen_modes_sgr(&p->pen, old);
	int size = screen_modes_sgr(pen, text);
	if (strcmp(old, text) != 0)
		evbuffer_add(p->out, text, (size_t)size);
	p->pen = *pen;
}

static void put_characters(struct evbuffer *out, const uint32_t *chars)
{
	for (int i = 0; i < VTERM_MAX_CHARS_PER_CELL && chars[i]; i++) {
		char text[4];
		evbuffer_add(out, text, (size_t)screen_width_put(chars[i], text));
	}
}

static struct screen_pen pen_of(const VTermScreenCell *cell)
{
	struct screen_pen pen;
	memset(&pen, 0, sizeof pen);
	pen.attrs = cell->attrs;
	pen.fg = cell->fg;
	pen.bg = cell->bg;
	return pen;
}

static bool is_empty(const VTermScreenCell *cell)
{
	return cell->chars[0] == 0;
}

/* Is the cell empty, with the colours of a cleared screen? */
static bool is_blank(const VTermScreenCell *cell)
{
	char blank[128], text[128];
	static const struct screen_pen none = {.fg = {.type = VTERM_COLOR_DEFAULT_FG}, .bg = {.type = VTERM_COLOR_DEFAULT_BG}};
	struct screen_pen pen = pen_of(cell);
	screen_modes_sgr(&none, blank);
	screen_modes_sgr(&pen, text);
	return is_empty(cell) && strcmp(blank, text) == 0;
}

static void move_to(struct painting *p, int col)
{
	if (p->col != col)
		evbuffer_add_printf(p->out, "\033[%dG", col + 1);
	p->col = col;
}

/* Erase on the client's terminal the empty cells from column `col` on that have the same pen. Returns their number. */
static int paint_empty(struct painting *p, const VTermScreenCell *row, int col)
{
	char first[128], text[128];
	int end = col;
	struct screen_pen pen = pen_of(&row[col]);
	screen_modes_sgr(&pen, first);
	for (; end < p->s->cols && is_empty(&row[end]); end++) {
		struct screen_pen other = pen_of(&row[end]);
		screen_modes_sgr(&other, text);
		if (strcmp(first, text) != 0)
			break;
	}
	if (!is_blank(&row[col])) {
		move_to(p, col);
		put_pen(p, &pen);
		evbuffer_add_printf(p->out, "\033[%dX", end - col);
	}
	return end - col;
}

/* Paint one character. Returns how many cells it takes. */
static int paint_character(struct painting *p, const VTermScreenCell *row, int col)
{
	struct screen_pen pen = pen_of(&row[col]);
	int width = screen_modes_width(row, p->s->cols, col);
	move_to(p, col);
	put_pen(p, &pen);
	if (width == 0)
		evbuffer_add(p->out, " ", 1);
	else
		put_characters(p->out, row[col].chars);
	width = width == 0 ? 1 : width;
	p->col = col + width < p->s->cols ? col + width : -1;
	return width;
}

static void restore_paint(const struct screen *s, struct evbuffer *out, const VTermScreenCell *cells)
{
	struct painting p = {
		.s = s, .out = out, .pen = {.fg = {.type = VTERM_COLOR_DEFAULT_FG}, .bg = {.type = VTERM_COLOR_DEFAULT_BG}}};
	evbuffer_add_printf(out, "\033[0m\033[H\033[2J");
	for (int row = 0; row < s->rows; row++) {
		const VTermScreenCell *line = cells + row * s->cols;
		evbuffer_add_printf(out, "\033[%dH", row + 1);
		p.col = 0;
		for (int col = 0; col < s->cols;)
			col += is_empty(&line[col]) ? paint_empty(&p, line, col) : paint_character(&p, line, col);
	}
}

static void put_cursor(const struct screen *s, struct evbuffer *out, VTermPos at, bool origin)
{
	int first = origin ? s->top : 0;
	evbuffer_add_printf(out, "\033[%d;%dH", at.row > first ? at.row - first + 1 : 1, at.col + 1);
}

static void put_sgr(struct evbuffer *out, const struct screen_pen *pen)
{
	char text[128];
	evbuffer_add(out, text, (size_t)screen_modes_sgr(pen, text));
}

/* Have the client's terminal save the cursor that is saved in the model; if none is, the cursor of a new terminal. */
static void put_saved(const struct screen *s, struct evbuffer *out, const struct screen_saved *saved)
{
	evbuffer_add_printf(out, "\033[?6%c", saved->origin ? 'h' : 'l');
	put_cursor(s, out, saved->at, false);
	if (saved->is_set)
		put_sgr(out, &saved->pen);
	else
		evbuffer_add_printf(out, "\033[0m");
	evbuffer_add_printf(out, "\0337\033[?6l");
}

static void put_tabs(const struct screen *s, struct evbuffer *out)
{
	if (!s->has_own_tabs)
		return;
	evbuffer_add_printf(out, "\033[3g");
	for (int col = 0; col < s->cols; col++)
		if (s->tabs[col])
			evbuffer_add_printf(out, "\033[%dG\033H", col + 1);
}

/* Titles may contain any byte but those that end a title. */
static void put_titles(const struct screen *s, struct evbuffer *out)
{
	const char *titles[] = {s->icon, s->title};
	for (int i = 0; i < 2; i++)
		if (titles[i])
			evbuffer_add_printf(out, "\033]%d;%s\033\\", i + 1, titles[i]);
}

/* Set all modes on the client's terminal, except those that would change how the rest of the picture is drawn. */
static void put_modes(const struct screen *s, struct evbuffer *out)
{
	for (int i = 0; i < SWITCHES; i++)
		if (i != SWITCH_ORIGIN && i != SWITCH_WRAP)
			evbuffer_add_printf(out, "\033[?%d%c", screen_switch_modes[i], s->switches[i] ? 'h' : 'l');
	evbuffer_add_printf(out, "\033[?1000l\033[?1002l\033[?1003l\033[?1005l\033[?1006l\033[?1015l");
	if (s->mouse)
		evbuffer_add_printf(out, "\033[?%dh", s->mouse);
	if (s->protocol)
		evbuffer_add_printf(out, "\033[?%dh", s->protocol);
	evbuffer_add_printf(out, "\033[%d q\033%c\033[20%c", s->shape, s->keypad ? '=' : '>', s->newline ? 'h' : 'l');
	if (s->blink >= 0)
		evbuffer_add_printf(out, "\033[?12%c", s->blink ? 'h' : 'l');
}

/* Write the cell under the cursor once more, so that on the client's terminal too the next character goes to the next row. */
static void put_full_column(const struct screen *s, struct evbuffer *out, const VTermScreenCell *row, int col)
{
	struct screen_pen pen = pen_of(&row[col]);
	put_sgr(out, &pen);
	if (is_empty(&row[col]))
		evbuffer_add_printf(out, " \033[X");
	else if (screen_modes_width(row, s->cols, col) == 0)
		evbuffer_add_printf(out, " ");
	else
		put_characters(out, row[col].chars);
}

/* Clear s->wraps_next if the last column cannot be filled again on another terminal, because its wide character was written over.
 * The cursor then stays on that column, and the next character does not wrap. */
static void check_full_column(struct screen *s, const VTermScreenCell *cells)
{
	VTermPos at = screen_modes_cursor(s);
	if (s->wraps_next && at.col < s->cols - 1 && screen_modes_width(cells + at.row * s->cols, s->cols, at.col) != 2)
		screen_modes_place(s, at);
}

static void put_cursor_and_rest(const struct screen *s, struct evbuffer *out, const VTermScreenCell *cells)
{
	struct screen_pen pen;
	VTermPos at = screen_modes_cursor(s);
	if (s->top > 0 || s->bottom < s->rows)
		evbuffer_add_printf(out, "\033[%d;%dr", s->top + 1, s->bottom);
	if (s->switches[SWITCH_ORIGIN])
		evbuffer_add_printf(out, "\033[?6h");
	put_cursor(s, out, at, s->switches[SWITCH_ORIGIN]);
	if (s->wraps_next)
		put_full_column(s, out, &cells[at.row * s->cols], at.col);
	if (!s->switches[SWITCH_WRAP])
		evbuffer_add_printf(out, "\033[?7l");
	if (s->insert)
		evbuffer_add_printf(out, "\033[4h");
	evbuffer_add_printf(out, "\033(%c\033)%c%s", s->charsets[0], s->charsets[1], s->shift_out ? "\016" : "");
	screen_modes_pen(s, &pen);
	put_sgr(out, &pen);
	if (s->skips)
		evbuffer_add_printf(out, s->skips == ']' ? "\033]9999;" : "\033%c", s->skips == 'P' ? '_' : s->skips);
	evbuffer_add(out, s->part, s->part_size);
}

void screen_restore(struct screen *s, struct evbuffer *out)
{
	VTermScreenCell *cells = calloc((size_t)s->rows * (size_t)s->cols, sizeof *cells);
	if (!cells)
		return;
	for (int i = 0; i < s->rows * s->cols; i++) {
		vterm_screen_get_cell(s->cells, (VTermPos){i / s->cols, i % s->cols}, &cells[i]);
		cells[i].attrs.reverse ^= s->switches[SWITCH_REVERSE];
	}
	evbuffer_add_printf(out, "\033[?6l\033[r\033[4l\033[20l\033[?7h\033[?5l\033(B\033)B\017\033[?1047l");
	if (s->alternate) {
		restore_paint(s, out, s->normal);
		put_saved(s, out, &s->saved[0]);
		evbuffer_add_printf(out, "\033[?1047h");
	}
	restore_paint(s, out, cells);
	put_saved(s, out, &s->saved[s->alternate]);
	put_tabs(s, out);
	put_titles(s, out);
	put_modes(s, out);
	check_full_column(s, cells);
	put_cursor_and_rest(s, out, cells);
	free(cells);
}
