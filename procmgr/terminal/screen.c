/* screen.c - takes the program's output into the screen model: tokens to libvterm and screen_modes.c, lines to the scrollback.
 *
 * Called by: terminal.c.
 * Invariants:
 * - libvterm gets whole characters and whole sequences.
 * - Plain lines cost little CPU time: lines that would leave the screen at once go directly to the scrollback. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "lib/err.h"
#include "procmgr/terminal/screen_parts.h"

enum { PART_MOST = 4096, REPEAT_MOST = 4096 };

static int line_pushed(int cols, const VTermScreenCell *cells, void *arg)
{
	screen_lines_pushed(arg, cols, cells);
	return 1;
}

static int property_set(VTermProp property, VTermValue *value, void *arg)
{
	(void)property, (void)value, (void)arg;
	return 1;
}

static void answer_written(const char *bytes, size_t size, void *arg)
{
	struct screen *s = arg;
	if (s->handlers.answered)
		s->handlers.answered(bytes, size, s->handlers.arg);
}

struct screen *screen_new(int rows, int cols, const struct screen_handlers *handlers)
{
	static const VTermScreenCallbacks callbacks = {.sb_pushline = line_pushed, .settermprop = property_set};
	struct screen *s = xcalloc(1, sizeof *s);
	if (handlers)
		s->handlers = *handlers;
	screen_clamp(&rows, &cols);
	s->rows = rows;
	s->cols = cols;
	s->ring = xcalloc(SCREEN_LINES_MOST, sizeof *s->ring);
	s->part = xmalloc(PART_MOST);
	s->vt = vterm_new(rows, cols);
	vterm_set_utf8(s->vt, 1);
	vterm_output_set_callback(s->vt, answer_written, s);
	s->state = vterm_obtain_state(s->vt);
	s->cells = vterm_obtain_screen(s->vt);
	vterm_screen_set_callbacks(s->cells, &callbacks, s);
	vterm_screen_set_damage_merge(s->cells, VTERM_DAMAGE_SCREEN);
	vterm_screen_enable_altscreen(s->cells, 1);
	vterm_screen_reset(s->cells, 1);
	screen_modes_reset(s);
	return s;
}

void screen_free(struct screen *s)
{
	screen_lines_clear(s);
	vterm_free(s->vt);
	free(s->ring);
	free(s->part);
	free(s->normal);
	free(s->title);
	free(s->icon);
	free(s);
}

void screen_clamp(int *rows, int *cols)
{
	*rows = *rows < SCREEN_ROWS_LEAST ? SCREEN_ROWS_LEAST : *rows > SCREEN_ROWS_MOST ? SCREEN_ROWS_MOST : *rows;
	*cols = *cols < SCREEN_COLS_LEAST ? SCREEN_COLS_LEAST : *cols > SCREEN_COLS_MOST ? SCREEN_COLS_MOST : *cols;
}

void screen_size(const struct screen *s, int *rows, int *cols)
{
	*rows = s->rows;
	*cols = s->cols;
}

void screen_resize(struct screen *s, int rows, int cols)
{
	screen_clamp(&rows, &cols);
	if (rows != s->rows || cols != s->cols)
		screen_modes_resize(s, rows, cols);
}

/* Returns the offset of the last character of the text that takes a column, not a combining one; `size` if there is none. */
static size_t last_base(const char *text, size_t size)
{
	for (size_t at = size; at > 0; at--) {
		size_t used;
		if (((unsigned char)text[at - 1] & 0xc0) != 0x80 && screen_width_text(text + at - 1, size - at + 1, &used) > 0)
			return at - 1;
	}
	return size;
}

/* Write text to libvterm. Sets s->wraps_next if the cursor then stays on the last column, which is full. */
static void write_text(struct screen *s, const char *text, size_t size)
{
	size_t base = last_base(text, size), used = 0;
	if (base == size) {
		vterm_input_write(s->vt, text, size);
		return;
	}
	if (base > 0)
		vterm_input_write(s->vt, text, base);
	VTermPos before = screen_modes_cursor(s);
	vterm_input_write(s->vt, text + base, size - base);
	VTermPos after = screen_modes_cursor(s);
	s->wraps_next = before.row == after.row && before.col == after.col && s->switches[SWITCH_WRAP];
	s->after_text = true;
	screen_width_text(text + base, size - base, &used);
	s->last_size = used < sizeof s->last ? (int)used : 0;
	memcpy(s->last, text + base, (size_t)s->last_size);
}

/* Returns the size of the combining characters at the begin of the text that must be dropped: libvterm cannot combine them with a
 * character of an earlier write if the cursor has moved since, or is on a full column. */
static size_t combining_size(const struct screen *s, const char *text, size_t size)
{
	size_t skipped = 0, used;
	if (s->after_text && !s->wraps_next)
		return 0;
	while (skipped < size && screen_width_text(text + skipped, size - skipped, &used) == 0)
		skipped += used;
	return skipped;
}

/* Add text to `out` as valid UTF-8 without C1 control characters: on anything else libvterm may write beyond its arrays. */
static void add_valid(struct evbuffer *out, const char *text, size_t size)
{
	for (size_t at = 0, used; at < size; at += used) {
		mbstate_t state = {0};
		wchar_t c;
		size_t got = mbrtowc(&c, text + at, size - at, &state);
		used = got == 0 || got > size - at ? 1 : got;
		if (used != got)
			evbuffer_add(out, "\357\277\275", 3);
		else if (c >= 0xa0 || c < 0x80)
			evbuffer_add(out, text + at, used);
	}
}

static void take_valid(struct screen *s, const char *text, size_t size)
{
	size_t skipped = combining_size(s, text, size);
	if (size > skipped)
		write_text(s, text + skipped, size - skipped);
}

static void take_utf8(struct screen *s, const char *text, size_t size)
{
	size_t ascii = 0;
	while (ascii < size && !(text[ascii] & 0x80))
		ascii++;
	if (ascii == size) {
		take_valid(s, text, size);
		return;
	}
	struct evbuffer *valid = evbuffer_new();
	add_valid(valid, text, size);
	take_valid(s, (const char *)evbuffer_pullup(valid, -1), evbuffer_get_length(valid));
	evbuffer_free(valid);
}

/* Take text, translated to UTF-8 from the character set that is in use: line drawing, the British one, or ASCII. libvterm
 * combines characters in UTF-8 only. */
static void take_text(struct screen *s, const char *text, size_t size)
{
	static const char *const drawing[] = {" ", "◆", "▒", "␉", "␌", "␍", "␊", "°", "±", "␤", "␋", "┘", "┐", "┌", "└", "┼",
					      "⎺", "⎻", "─", "⎼", "⎽", "├", "┤", "┴", "┬", "│", "≤", "≥", "π", "≠", "£", "·"};
	char set = s->charsets[s->shift_out];
	if (set == 'B') {
		take_utf8(s, text, size);
		return;
	}
	struct evbuffer *translated = evbuffer_new();
	for (size_t i = 0; i < size; i++) {
		const char *other = set == '0' && text[i] >= 0x5f  ? drawing[text[i] - 0x5f]
				    : set == 'A' && text[i] == '#' ? "£"
								   : NULL;
		evbuffer_add(translated, other ? other : text + i, other ? strlen(other) : 1);
	}
	take_utf8(s, (const char *)evbuffer_pullup(translated, -1), evbuffer_get_length(translated));
	evbuffer_free(translated);
}

static void repeat_last(struct screen *s, const char *bytes, size_t size)
{
	struct token_csi csi;
	if (!token_csi_read(bytes, size, &csi) || csi.leader || csi.intermediate || s->last_size == 0)
		return;
	int count = token_csi_value(&csi, 0, 1);
	for (int i = 0; i < (count < REPEAT_MOST ? count : REPEAT_MOST) || i == 0; i++)
		take_utf8(s, s->last, (size_t)s->last_size);
}

static bool is_line_end(enum token_kind kind, const char *bytes)
{
	return (kind == TOKEN_CONTROL && *bytes >= '\n' && *bytes <= '\f') ||
	       (kind == TOKEN_ESCAPE && (bytes[1] == 'D' || bytes[1] == 'E'));
}

static void take_sequence(struct screen *s, enum token_kind kind, const char *bytes, size_t size)
{
	VTermPos before = screen_modes_cursor(s);
	bool ends = is_line_end(kind, bytes);
	if (ends)
		screen_lines_end(s, before.row);
	if (kind == TOKEN_CONTROL)
		screen_modes_control(s, *bytes);
	else if (kind == TOKEN_ESCAPE)
		screen_modes_escape(s, bytes, size);
	else if (kind == TOKEN_CSI)
		screen_modes_csi(s, bytes, size);
	else if (kind == TOKEN_STRING)
		screen_modes_string(s, bytes, size);
	VTermPos after = screen_modes_cursor(s);
	s->wraps_next = s->wraps_next && before.row == after.row && before.col == after.col;
	s->after_text = false;
	if (ends || before.row != after.row)
		s->line_start = s->pushed + after.row;
}

static void take_token(struct screen *s, enum token_kind kind, const char *bytes, size_t size)
{
	if (kind == TOKEN_TEXT)
		take_text(s, bytes, size);
	else if (kind == TOKEN_CSI && bytes[size - 1] == 'b')
		repeat_last(s, bytes, size);
	else if (kind != TOKEN_DROP)
		take_sequence(s, kind, bytes, size);
}

/* Returns the size, with its end "\r\n", of a line of printable ASCII that fits on one row; 0 if `bytes` begins with no such
 * line. */
static size_t plain_line(const struct screen *s, const char *bytes, size_t size)
{
	for (size_t i = 0; i + 1 < size && i < (size_t)s->cols; i++) {
		if (bytes[i] == '\r')
			return bytes[i + 1] == '\n' ? i + 2 : 0;
		if (bytes[i] < 0x20 || bytes[i] == 0x7f)
			return 0;
	}
	return 0;
}

/* Returns true if the state of the screen allows that plain lines which leave it at once go to the scrollback without being
 * drawn. */
static bool may_skip(const struct screen *s)
{
	VTermPos at = screen_modes_cursor(s);
	return !s->alternate && s->top == 0 && s->bottom == s->rows && !s->insert && s->charsets[s->shift_out] == 'B' &&
	       at.col == 0 && at.row == s->rows - 1;
}

static void take_lines(struct screen *s, const char *bytes, size_t count, bool skip)
{
	for (size_t i = 0, size; i < count; i++, bytes += size) {
		size = plain_line(s, bytes, (size_t)s->cols + 2);
		if (skip) {
			screen_lines_add(s, bytes, size - 2);
			s->pushed++;
			if (s->handlers.line_ended) {
				s->handlers.line_ended(bytes, size - 2, s->handlers.arg);
				s->handlers.line_ended("\n", 1, s->handlers.arg);
			}
			continue;
		}
		if (size > 2)
			take_text(s, bytes, size - 2);
		take_sequence(s, TOKEN_CONTROL, bytes + size - 2, 1);
		take_sequence(s, TOKEN_CONTROL, bytes + size - 1, 1);
	}
}

static size_t lines_size(const struct screen *s, const char *bytes, size_t count)
{
	size_t size = 0;
	for (size_t i = 0; i < count; i++)
		size += plain_line(s, bytes + size, (size_t)s->cols + 2);
	return size;
}

/* Take plain lines if there are so many that most leave the screen at once. Returns the number of bytes that were taken. */
static size_t skip_lines(struct screen *s, const char *bytes, size_t size)
{
	size_t count = 0, taken = 0, one, rows = (size_t)s->rows;
	if (!may_skip(s))
		return 0;
	for (; (one = plain_line(s, bytes + taken, size - taken)) > 0; count++)
		taken += one;
	if (count <= 3 * rows)
		return 0;
	take_lines(s, bytes, rows, false); /* draw as many lines as the screen has rows, so that it has no older ones */
	bytes += lines_size(s, bytes, rows);
	for (int row = 0; row < s->rows - 1; row++) {
		struct evbuffer *text = evbuffer_new();
		screen_lines_row(s, row, text);
		screen_lines_add(s, (const char *)evbuffer_pullup(text, -1), evbuffer_get_length(text));
		evbuffer_free(text);
		s->pushed++;
	}
	size_t middle = count - 2 * rows + 1;
	take_lines(s, bytes, middle, true);
	bytes += lines_size(s, bytes, middle);
	s->quiet = s->rows - 1; /* the rows that the next lines push out of the screen are in the scrollback already */
	s->line_start = s->pushed + s->rows - 1;
	take_lines(s, bytes, rows - 1, false);
	s->quiet = 0;
	return taken;
}

/* Drop bytes of a control string that is too long, until its end. Returns how many bytes were dropped. */
static size_t skip_string(struct screen *s, const char *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		char c = bytes[i];
		if (c != 0x1b && c != 0x07 && c != 0x18 && c != 0x1a)
			continue;
		s->skips = '\0';
		return c == 0x1b ? i : i + 1; /* ESC \ alone has no effect */
	}
	return size;
}

/* Handle all whole tokens in `bytes`. Returns how many bytes these tokens have. */
static size_t take_tokens(struct screen *s, const char *bytes, size_t size)
{
	size_t at = 0, one;
	enum token_kind kind;
	while (at < size) {
		if (s->skips) {
			at += skip_string(s, bytes + at, size - at);
			continue;
		}
		at += skip_lines(s, bytes + at, size - at);
		one = token_next(bytes + at, size - at, &kind);
		if (one == 0)
			break;
		take_token(s, kind, bytes + at, one);
		at += one;
	}
	return at;
}

void screen_feed(struct screen *s, const char *bytes, size_t size)
{
	char *joined = NULL;
	if (s->part_size > 0) {
		joined = xmalloc(s->part_size + size);
		memcpy(joined, s->part, s->part_size);
		memcpy(joined + s->part_size, bytes, size);
		bytes = joined;
		size += s->part_size;
	}
	size_t taken = take_tokens(s, bytes, size);
	s->part_size = size - taken;
	if (s->part_size > PART_MOST) {
		s->skips = bytes[taken + 1] == '[' ? '\0' : bytes[taken + 1];
		s->part_size = 0;
	}
	memcpy(s->part, bytes + taken, s->part_size);
	free(joined);
}
