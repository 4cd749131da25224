/* screen_modes.c - the part of a terminal's state that libvterm does not report: modes, saved cursors, scroll region, tabs, title,
 * and the normal screen while the alternate one is shown.
 *
 * Called by: screen.c.
 * Invariants:
 * - libvterm gets only sequences that it knows, and none that make it fail. It is never made to save a cursor, to set left and
 *   right margins, lines of double width, or another character set.
 * - A sequence changes the state here and that of libvterm in the same way. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/err.h"
#include "procmgr/terminal/screen_parts.h"

enum { VTERM_VALUES_MOST = 14 };

const int screen_switch_modes[SWITCHES] = {1, 5, 6, 7, 25, 1004, 1007, 2004};

void screen_modes_write(struct screen *s, const char *format, ...)
{
	char text[256];
	va_list list;
	va_start(list, format);
	int size = vsnprintf(text, sizeof text, format, list);
	va_end(list);
	vterm_input_write(s->vt, text, (size_t)size);
}

VTermPos screen_modes_cursor(const struct screen *s)
{
	VTermPos at;
	vterm_state_get_cursorpos(s->state, &at);
	return at;
}

static int pen_value(const struct screen *s, VTermAttr attr)
{
	VTermValue value;
	vterm_state_get_penattr(s->state, attr, &value);
	return vterm_get_attr_type(attr) == VTERM_VALUETYPE_BOOL ? !!value.boolean : value.number;
}

void screen_modes_pen(const struct screen *s, struct screen_pen *pen)
{
	VTermValue fg, bg;
	memset(pen, 0, sizeof *pen);
	pen->attrs.bold = pen_value(s, VTERM_ATTR_BOLD) & 1;
	pen->attrs.underline = pen_value(s, VTERM_ATTR_UNDERLINE) & 3;
	pen->attrs.italic = pen_value(s, VTERM_ATTR_ITALIC) & 1;
	pen->attrs.blink = pen_value(s, VTERM_ATTR_BLINK) & 1;
	pen->attrs.reverse = pen_value(s, VTERM_ATTR_REVERSE) & 1;
	pen->attrs.strike = pen_value(s, VTERM_ATTR_STRIKE) & 1;
	pen->attrs.font = pen_value(s, VTERM_ATTR_FONT) & 15;
	vterm_state_get_penattr(s->state, VTERM_ATTR_FOREGROUND, &fg);
	vterm_state_get_penattr(s->state, VTERM_ATTR_BACKGROUND, &bg);
	pen->fg = fg.color;
	pen->bg = bg.color;
}

/* Write the sequence that sets one colour of the pen. Each colour gets a sequence of its own, since all values together are too
 * many for libvterm. Returns the size. */
static int put_color(char *at, size_t room, const VTermColor *color, int base)
{
	if (base == 38 ? VTERM_COLOR_IS_DEFAULT_FG(color) : VTERM_COLOR_IS_DEFAULT_BG(color))
		return 0;
	if (VTERM_COLOR_IS_RGB(color))
		return snprintf(at, room, "\033[%d;2;%d;%d;%dm", base, color->rgb.red, color->rgb.green, color->rgb.blue);
	int index = color->indexed.idx;
	if (index < 8)
		return snprintf(at, room, "\033[%dm", base - 8 + index);
	if (index < 16)
		return snprintf(at, room, "\033[%dm", base + 52 + index - 8);
	return snprintf(at, room, "\033[%d;5;%dm", base, index);
}

int screen_modes_sgr(const struct screen_pen *pen, char text[128])
{
	static const char *const underlines[] = {"", ";4", ";21", ";4:3"};
	const VTermScreenCellAttrs *a = &pen->attrs;
	int size = snprintf(text, 128, "\033[0%s%s%s%s%s%s", a->bold ? ";1" : "", a->italic ? ";3" : "", underlines[a->underline],
			    a->blink ? ";5" : "", a->reverse ? ";7" : "", a->strike ? ";9" : "");
	if (a->font)
		size += snprintf(text + size, 128 - (size_t)size, ";%d", 10 + a->font);
	size += snprintf(text + size, 128 - (size_t)size, "m");
	size += put_color(text + size, 128 - (size_t)size, &pen->fg, 38);
	size += put_color(text + size, 128 - (size_t)size, &pen->bg, 48);
	return size;
}

int screen_modes_width(const VTermScreenCell *row, int cols, int col)
{
	uint32_t c = row[col].chars[0];
	int width = c == 0 || c > 0x10ffff ? 0 : screen_width(c);
	bool has_half = col + 1 < cols && row[col + 1].chars[0] == (uint32_t)-1;
	return width == 2 && !has_half ? 0 : width;
}

void screen_modes_place(struct screen *s, VTermPos at)
{
	int first = s->switches[SWITCH_ORIGIN] ? s->top : 0;
	screen_modes_write(s, "\033[%d;%dH", at.row > first ? at.row - first + 1 : 1, at.col + 1);
	s->wraps_next = false;
}

static void set_pen(struct screen *s, const struct screen_pen *pen)
{
	char text[128];
	screen_modes_sgr(pen, text);
	screen_modes_write(s, "%s", text);
}

static void reset_tabs(struct screen *s)
{
	for (int col = 0; col < SCREEN_COLS_MOST; col++)
		s->tabs[col] = col % 8 == 0;
	s->has_own_tabs = false;
}

void screen_modes_reset(struct screen *s)
{
	memset(s->switches, 0, sizeof s->switches);
	s->switches[SWITCH_WRAP] = s->switches[SWITCH_VISIBLE] = true;
	s->mouse = s->protocol = 0;
	s->insert = s->newline = s->keypad = s->shift_out = false;
	s->charsets[0] = s->charsets[1] = 'B';
	s->shape = 0;
	s->blink = -1;
	s->top = 0;
	s->bottom = s->rows;
	s->wraps_next = false;
	s->last_size = 0;
	memset(s->saved, 0, sizeof s->saved);
	reset_tabs(s);
}

static void save_cursor(struct screen *s)
{
	struct screen_saved *saved = &s->saved[s->alternate];
	saved->is_set = true;
	saved->at = screen_modes_cursor(s);
	saved->origin = s->switches[SWITCH_ORIGIN];
	screen_modes_pen(s, &saved->pen);
}

static void restore_cursor(struct screen *s)
{
	const struct screen_saved *saved = &s->saved[s->alternate];
	s->switches[SWITCH_ORIGIN] = saved->is_set && saved->origin;
	screen_modes_write(s, "\033[?6%c", s->switches[SWITCH_ORIGIN] ? 'h' : 'l');
	screen_modes_place(s, saved->is_set ? saved->at : (VTermPos){0, 0});
	if (saved->is_set)
		set_pen(s, &saved->pen);
	else
		screen_modes_write(s, "\033[0m");
}

static void show_alternate(struct screen *s, bool on)
{
	if (s->alternate == on)
		return;
	if (on) {
		s->normal = xcalloc((unsigned long)s->rows * (unsigned long)s->cols, sizeof *s->normal);
		for (int i = 0; i < s->rows * s->cols; i++) {
			vterm_screen_get_cell(s->cells, (VTermPos){i / s->cols, i % s->cols}, &s->normal[i]);
			s->normal[i].attrs.reverse ^= s->switches[SWITCH_REVERSE];
		}
	} else {
		free(s->normal);
		s->normal = NULL;
		s->saved[1] = (struct screen_saved){0};
	}
	s->alternate = on;
	screen_modes_write(s, "\033[?1047%c", on ? 'h' : 'l');
}

static void set_switch(struct screen *s, enum screen_switch i, bool on)
{
	s->switches[i] = on;
	if (i <= SWITCH_VISIBLE)
		screen_modes_write(s, "\033[?%d%c", screen_switch_modes[i], on ? 'h' : 'l');
}

static void set_private_mode(struct screen *s, int mode, bool on)
{
	for (int i = 0; i < SWITCHES; i++)
		if (screen_switch_modes[i] == mode)
			set_switch(s, (enum screen_switch)i, on);
	if (mode == 12)
		s->blink = on;
	if (mode == 9 || (mode >= 1000 && mode <= 1003))
		s->mouse = on ? mode : 0;
	if (mode == 1005 || mode == 1006 || mode == 1015 || mode == 1016)
		s->protocol = on ? mode : 0;
	if ((mode == 1048 || mode == 1049) && on && !(mode == 1049 && s->alternate))
		save_cursor(s);
	bool was_alternate = s->alternate;
	if (mode == 47 || mode == 1047 || mode == 1049)
		show_alternate(s, on);
	if (!on && (mode == 1048 || (mode == 1049 && was_alternate)))
		restore_cursor(s);
}

static void set_mode(struct screen *s, int mode, bool on)
{
	if (mode != 4 && mode != 20)
		return;
	*(mode == 4 ? &s->insert : &s->newline) = on;
	screen_modes_write(s, "\033[%d%c", mode, on ? 'h' : 'l');
}

static void set_region(struct screen *s, const struct token_csi *csi)
{
	int top = token_csi_value(csi, 0, 1) - 1, bottom = token_csi_value(csi, 1, s->rows);
	s->top = top < 0 ? 0 : top;
	s->bottom = bottom > s->rows || bottom == 0 ? s->rows : bottom;
	if (s->top >= s->bottom) {
		s->top = 0;
		s->bottom = s->rows;
	}
	screen_modes_write(s, "\033[%d;%dr", s->top + 1, s->bottom);
}

static void clear_tabs(struct screen *s, int which)
{
	if (which == 3)
		memset(s->tabs, 0, sizeof s->tabs);
	else if (which == 0)
		s->tabs[screen_modes_cursor(s).col] = false;
	else
		return;
	s->has_own_tabs = true;
	screen_modes_write(s, "\033[%dg", which);
}

static void reset_soft(struct screen *s)
{
	VTermPos at = screen_modes_cursor(s);
	static const int on[] = {SWITCH_WRAP, SWITCH_VISIBLE}, off[] = {SWITCH_CURSOR_KEYS, SWITCH_ORIGIN};
	for (int i = 0; i < 2; i++) {
		set_switch(s, (enum screen_switch)on[i], true);
		set_switch(s, (enum screen_switch)off[i], false);
	}
	set_mode(s, 4, false);
	s->keypad = s->shift_out = false;
	s->charsets[0] = s->charsets[1] = 'B';
	s->top = 0;
	s->bottom = s->rows;
	s->saved[s->alternate] = (struct screen_saved){0};
	screen_modes_write(s, "\033[r\033[0m\033>");
	screen_modes_place(s, at);
}

static void reset_hard(struct screen *s)
{
	show_alternate(s, false);
	screen_modes_write(s, "\033[?5l\033c");
	screen_modes_reset(s);
}

void screen_modes_control(struct screen *s, char control)
{
	if (control == '\016' || control == '\017')
		s->shift_out = control == '\016';
	if (strchr("\b\t\n\v\f\r", control))
		vterm_input_write(s->vt, &control, 1);
}

void screen_modes_escape(struct screen *s, const char *bytes, size_t size)
{
	char c = bytes[1];
	if (size == 3 && (c == '(' || c == ')') && strchr("0AB", bytes[2]))
		s->charsets[c - '('] = bytes[2];
	if (size != 2)
		return;
	if (c == '7')
		save_cursor(s);
	else if (c == '8')
		restore_cursor(s);
	else if (c == 'c')
		reset_hard(s);
	else if (c == 'H')
		s->tabs[screen_modes_cursor(s).col] = s->has_own_tabs = true;
	else if (c == '=' || c == '>')
		s->keypad = c == '=';
	if (strchr("DEHM=>", c))
		vterm_input_write(s->vt, bytes, size);
}

/* Are all colours of an SGR sequence complete? If the last one is not, libvterm would read values that do not exist. */
static bool has_whole_colors(const struct token_csi *csi)
{
	for (int i = 0; i < csi->count; i++) {
		if (csi->values[i] != 38 && csi->values[i] != 48)
			continue;
		int kind = token_csi_value(csi, i + 1, 0), more = kind == 5 ? 2 : kind == 2 ? 4 : 0;
		if (more == 0 || i + more >= csi->count)
			return false;
		i += more;
	}
	return true;
}

/* Write an SGR of many values in pieces of one attribute, since libvterm has room for VTERM_VALUES_MOST. */
static void write_sgr(struct screen *s, const struct token_csi *csi, const char *bytes, size_t size)
{
	if (!has_whole_colors(csi))
		return;
	if (csi->count <= VTERM_VALUES_MOST) {
		vterm_input_write(s->vt, bytes, size);
		return;
	}
	for (int i = 0; i < csi->count; i++) {
		const int *v = &csi->values[i];
		bool is_color = *v == 38 || *v == 48;
		if (is_color && v[1] == 5) {
			screen_modes_write(s, "\033[%d;5;%dm", *v, token_csi_value(csi, i + 2, 0));
			i += 2;
		} else if (is_color) {
			screen_modes_write(s, "\033[%d;2;%d;%d;%dm", *v, token_csi_value(csi, i + 2, 0),
					   token_csi_value(csi, i + 3, 0), token_csi_value(csi, i + 4, 0));
			i += 4;
		} else if (csi->joined & 1u << i && *v == 4) {
			screen_modes_write(s, "\033[4:%dm", token_csi_value(csi, ++i, 1));
		} else {
			screen_modes_write(s, "\033[%dm", token_csi_value(csi, i, 0));
		}
	}
}

static void take_plain(struct screen *s, const struct token_csi *csi, const char *bytes, size_t size)
{
	char c = csi->final;
	if (c == 'h' || c == 'l') {
		for (int i = 0; i < csi->count; i++)
			set_mode(s, csi->values[i], c == 'h');
	} else if (c == 'r') {
		set_region(s, csi);
	} else if (c == 's') {
		save_cursor(s);
	} else if (c == 'u') {
		restore_cursor(s);
	} else if (c == 'g') {
		clear_tabs(s, token_csi_value(csi, 0, 0));
	} else if (c == 'J' && token_csi_value(csi, 0, 0) == 3) {
		screen_lines_clear(s);
	} else if (c == 'm') {
		write_sgr(s, csi, bytes, size);
	} else if (csi->count <= VTERM_VALUES_MOST && strchr("@ABCDEFGHIJKLMPSTXZ`acdefjkn", c)) {
		vterm_input_write(s->vt, bytes, size);
		if (strchr("ABCDEFGH`adefjk", c))
			s->wraps_next = false;
	}
}

void screen_modes_csi(struct screen *s, const char *bytes, size_t size)
{
	struct token_csi csi;
	if (!token_csi_read(bytes, size, &csi))
		return;
	char c = csi.final;
	if (!csi.leader && !csi.intermediate) {
		take_plain(s, &csi, bytes, size);
	} else if (csi.intermediate == ' ' && !csi.leader && c == 'q') {
		s->shape = token_csi_value(&csi, 0, 0);
		s->blink = -1;
	} else if (csi.intermediate == '!' && c == 'p') {
		reset_soft(s);
	} else if (csi.leader == '?' && !csi.intermediate && (c == 'h' || c == 'l')) {
		for (int i = 0; i < csi.count; i++)
			set_private_mode(s, csi.values[i], c == 'h');
	} else if (!csi.intermediate && csi.count <= VTERM_VALUES_MOST &&
		   ((csi.leader == '?' && strchr("JKn", c)) || (csi.leader == '>' && c == 'c'))) {
		vterm_input_write(s->vt, bytes, size);
	}
}

/* Handles a control string. Only those that set the titles of the window (OSC 0, 1 and 2) have an effect. */
void screen_modes_string(struct screen *s, const char *bytes, size_t size)
{
	size_t end = size - (bytes[size - 1] == '\a' ? 1 : 2);
	if (bytes[1] != ']' || end < 4 || bytes[2] < '0' || bytes[2] > '2' || bytes[3] != ';')
		return;
	char **titles[] = {&s->title, &s->icon};
	for (int i = 0; i < 2; i++) {
		if (bytes[2] != '0' && bytes[2] != (i == 0 ? '2' : '1'))
			continue;
		free(*titles[i]);
		*titles[i] = xstrndup(bytes + 4, end - 4);
	}
}

static void resize_normal(struct screen *s, int rows, int cols, const VTermScreenCell *blank)
{
	VTermScreenCell *cells = xcalloc((unsigned long)rows * (unsigned long)cols, sizeof *cells);
	for (int i = 0; i < rows * cols; i++) {
		int row = i / cols, col = i % cols;
		cells[i] = row < s->rows && col < s->cols ? s->normal[row * s->cols + col] : *blank;
	}
	free(s->normal);
	s->normal = cells;
}

/* Change the size of the screen. Does what libvterm does not: resets the scroll region, moves saved cursors into a smaller
 * screen, and keeps new cells free of the pen's colours. */
void screen_modes_resize(struct screen *s, int rows, int cols)
{
	struct screen_pen pen;
	VTermPos at = screen_modes_cursor(s);
	VTermScreenCell blank = {.width = 1};
	screen_modes_pen(s, &pen);
	set_switch(s, SWITCH_ORIGIN, false);
	screen_modes_write(s, "\033[r\033[0m");
	screen_modes_place(s, at);
	vterm_state_get_default_colors(s->state, &blank.fg, &blank.bg);
	if (s->normal)
		resize_normal(s, rows, cols, &blank);
	for (int col = s->cols; col < cols; col++)
		s->tabs[col] = col % 8 == 0;
	vterm_set_size(s->vt, rows, cols);
	s->rows = rows;
	s->cols = cols;
	s->top = 0;
	s->bottom = rows;
	for (int i = 0; i < 2; i++) {
		VTermPos *saved = &s->saved[i].at;
		saved->row = saved->row < rows ? saved->row : rows - 1;
		saved->col = saved->col < cols ? saved->col : cols - 1;
	}
	at = screen_modes_cursor(s);
	screen_modes_place(s, (VTermPos){at.row < 0 ? 0 : at.row, at.col});
	set_pen(s, &pen);
	s->line_start = s->pushed + screen_modes_cursor(s).row;
}
