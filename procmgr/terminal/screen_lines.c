/* screen_lines.c - the text of the screen's rows, the scrollback, and the reports of complete lines.
 *
 * Called by: screen.c, screen_modes.c.
 * Invariants: the scrollback has at most SCREEN_LINES_MOST lines and BYTES_MOST bytes. */
#include <stdlib.h>
#include <string.h>

#include "lib/err.h"
#include "procmgr/terminal/screen_parts.h"

enum { BYTES_MOST = 16 << 20, CHARACTER_MOST = 4 };

static void line_free(struct screen *s, struct screen_line *line)
{
	s->ring_bytes -= line->size;
	free(line->text);
	line->text = NULL;
	line->size = 0;
}

static void drop_first(struct screen *s)
{
	line_free(s, &s->ring[s->ring_first]);
	s->ring_first = (s->ring_first + 1) % SCREEN_LINES_MOST;
	s->ring_count--;
}

void screen_lines_add(struct screen *s, const char *text, size_t size)
{
	while (s->ring_count > 0 && (s->ring_count == SCREEN_LINES_MOST || s->ring_bytes + size > BYTES_MOST))
		drop_first(s);
	struct screen_line *line = &s->ring[(s->ring_first + s->ring_count++) % SCREEN_LINES_MOST];
	line->text = size > 0 ? xstrndup(text, size) : xstrdup("");
	line->size = (uint32_t)size;
	s->ring_bytes += size;
}

void screen_lines_clear(struct screen *s)
{
	while (s->ring_count > 0)
		drop_first(s);
}

/* Write the characters of cells into `text`, which has room for them. Returns the size of the text without the spaces at its
 * end. */
static size_t cells_text(const VTermScreenCell *cells, int cols, char *text)
{
	size_t size = 0, used = 0;
	for (int col = 0; col<cols; col += cells[col].width> 1 ? 2 : 1) {
		const uint32_t *chars = cells[col].chars;
		if (chars[0] == 0 || chars[0] > 0x10ffff) {
			text[size++] = ' ';
			continue;
		}
		for (int i = 0; i < VTERM_MAX_CHARS_PER_CELL && chars[i]; i++)
			size += (size_t)screen_width_put(chars[i], text + size);
		if (chars[0] != ' ')
			used = size;
	}
	return used;
}

void screen_lines_row(const struct screen *s, int row, struct evbuffer *out)
{
	static VTermScreenCell cells[SCREEN_COLS_MOST];
	static char text[SCREEN_COLS_MOST * VTERM_MAX_CHARS_PER_CELL * CHARACTER_MOST];
	for (int col = 0; col < s->cols; col++)
		vterm_screen_get_cell(s->cells, (VTermPos){row, col}, &cells[col]);
	evbuffer_add(out, text, cells_text(cells, s->cols, text));
}

void screen_lines_pushed(struct screen *s, int cols, const VTermScreenCell *cells)
{
	static char text[SCREEN_COLS_MOST * VTERM_MAX_CHARS_PER_CELL * CHARACTER_MOST];
	if (s->quiet > 0) {
		s->quiet--;
		return;
	}
	s->pushed++;
	screen_lines_add(s, text, cells_text(cells, cols, text));
}

/* Add to `line` the spaces at the end of the last of its `rows` rows. The text of a row lacks them, but they are part of a line
 * that goes on in the next row. */
static void pad_row(const struct screen *s, struct evbuffer *line, int64_t rows)
{
	size_t size = evbuffer_get_length(line), used = 0;
	const char *text = size > 0 ? (const char *)evbuffer_pullup(line, -1) : "";
	int64_t missing = rows * s->cols;
	for (size_t one; used < size; used += one)
		missing -= screen_width_text(text + used, size - used, &one);
	for (; missing > 0; missing--)
		evbuffer_add(line, " ", 1);
}

void screen_lines_end(struct screen *s, int row)
{
	if (s->alternate || !s->handlers.line_ended)
		return;
	struct evbuffer *line = evbuffer_new();
	int64_t first = s->line_start, last = s->pushed + row, oldest = s->pushed - s->ring_count;
	if (first > last || first < oldest)
		first = last;
	for (int64_t at = first; at <= last; at++) {
		pad_row(s, line, at - first);
		if (at >= s->pushed) {
			screen_lines_row(s, (int)(at - s->pushed), line);
			continue;
		}
		const struct screen_line *l = &s->ring[(s->ring_first + (at - oldest)) % SCREEN_LINES_MOST];
		evbuffer_add(line, l->text, l->size);
	}
	evbuffer_add(line, "\n", 1);
	size_t size = evbuffer_get_length(line);
	s->handlers.line_ended((const char *)evbuffer_pullup(line, -1), size, s->handlers.arg);
	evbuffer_free(line);
}

void screen_text(const struct screen *s, size_t lines, struct evbuffer *out)
{
	size_t count = lines < (size_t)s->ring_count ? lines : (size_t)s->ring_count, last = 0;
	for (size_t i = (size_t)s->ring_count - count; i < (size_t)s->ring_count; i++) {
		const struct screen_line *l = &s->ring[((size_t)s->ring_first + i) % SCREEN_LINES_MOST];
		evbuffer_add(out, l->text, l->size);
		evbuffer_add(out, "\n", 1);
	}
	/* Leave out empty rows below the last row with text. */
	struct evbuffer *row = evbuffer_new();
	for (int at = 0; at < s->rows; at++) {
		screen_lines_row(s, at, row);
		if (evbuffer_get_length(row) > 0) {
			for (; last < (size_t)at; last++)
				evbuffer_add(out, "\n", 1);
			evbuffer_add_buffer(out, row);
			evbuffer_add(out, "\n", 1);
			last = (size_t)at + 1;
		}
	}
	evbuffer_free(row);
}
