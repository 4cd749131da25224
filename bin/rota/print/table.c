/* table.c - prints tables for people.
 *
 * Called by: every verb that prints a list.
 * Invariants:
 * - No line is longer than the terminal, unless requested. A cell that was cut ends in "~".
 * - Output to a pipe or a file is never cut, because its reader needs the whole values.
 * - Control characters in cells (users choose the names of jobs) are shown as "?", so no output can change the terminal. */
#include "bin/rota/print/table.h"

#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>

#include "lib/err.h"

struct cell {
	size_t text; /* offset of the cell's text in `texts` of the table */
	int width;   /* width of the text in screen columns */
	const char *colour;
};

/* Measures of the cells of one column. */
struct extent {
	int width; /* width of the widest cell */
	bool says; /* a cell is neither empty nor "-" */
};

struct table {
	const struct table_column *columns;
	int columns_count;
	struct extent *extents;
	struct cell *cells;
	size_t count, room;
	/* texts of all cells in one block, because lists have thousands of rows */
	char *texts;
	size_t texts_size, texts_room;
};

struct table *table_new(const struct table_column *columns, int count)
{
	struct table *t = xcalloc(1, sizeof(*t));

	t->columns = columns;
	t->columns_count = count;
	t->extents = xcalloc(count, sizeof(*t->extents));
	return t;
}

void table_free(struct table *t)
{
	if (!t)
		return;
	free(t->texts);
	free(t->cells);
	free(t->extents);
	free(t);
}

/* Copy `size` bytes of a text, with control characters as "?", and end the copy with a NUL. Returns the screen columns of the
 * copy. */
static int cell_tame(char *to, const char *text, size_t size)
{
	unsigned char all = 0;

	for (size_t i = 0; i < size; i++) {
		unsigned char c = (unsigned char)text[i];

		all |= c;
		to[i] = c < 0x20 || c == 0x7F ? '?' : text[i];
	}
	to[size] = '\0';
	return all & 0x80 ? table_text_width(to) : (int)size;
}

void table_cell_coloured(struct table *t, const char *text, const char *colour)
{
	struct extent *extent = &t->extents[t->count % t->columns_count];
	size_t size = strlen(text);
	char *copy;
	int width;

	if (t->texts_size + size >= t->texts_room) {
		t->texts_room = (t->texts_size + size + 1) * 2;
		t->texts = xrealloc(t->texts, t->texts_room);
	}
	copy = t->texts + t->texts_size;
	width = cell_tame(copy, text, size);
	if (width > extent->width)
		extent->width = width;
	extent->says |= copy[0] && (copy[0] != '-' || copy[1]);
	if (t->count == t->room) {
		t->room = t->room ? t->room * 2 : 64;
		t->cells = xrealloc(t->cells, t->room * sizeof(*t->cells));
	}
	t->cells[t->count++] = (struct cell){t->texts_size, width, colour};
	t->texts_size += size + 1;
}

void table_cell(struct table *t, const char *text)
{
	table_cell_coloured(t, text, "");
}

int table_width(void)
{
	const char *columns = getenv("COLUMNS");
	struct winsize size;
	int width = columns ? atoi(columns) : 0;

	if (width > 0)
		return width;
	if (!isatty(STDOUT_FILENO))
		return 0;
	return !ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) && size.ws_col ? size.ws_col : 80;
}

bool table_colours(void)
{
	return isatty(STDOUT_FILENO) && !getenv("NO_COLOR");
}

/* Returns the length in bytes of a character that is not ASCII; *width gets its screen columns. Names are UTF-8, whatever the locale is. */
static size_t step_wide(const char *text, int *width)
{
	static locale_t utf8;
	locale_t before;
	mbstate_t state = {0};
	wchar_t wide = 0;
	size_t bytes;

	if (!utf8)
		utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", NULL);
	before = uselocale(utf8);
	bytes = mbrtowc(&wide, text, strlen(text), &state);
	if (bytes == 0 || bytes > (size_t)-3)
		bytes = *width = 1;
	else
		*width = wcwidth(wide) > 0 ? wcwidth(wide) : 0;
	uselocale(before);
	return bytes;
}

/* Returns the bytes of one character; *width gets its screen columns. */
static size_t character_step(const char *text, int *width)
{
	if (*text & 0x80)
		return step_wide(text, width);
	*width = 1;
	return 1;
}

int table_text_width(const char *text)
{
	int width = 0, one;

	for (; *text; width += one)
		text += character_step(text, &one);
	return width;
}

size_t table_text_fit(const char *text, int width)
{
	size_t at = 0;
	int one;

	while (text[at]) {
		size_t bytes = character_step(text + at, &one);

		if (one > width)
			break;
		width -= one;
		at += bytes;
	}
	return at;
}

static const struct cell *cell_at(const struct table *t, size_t row, int column)
{
	return &t->cells[row * t->columns_count + column];
}

static size_t rows_of(const struct table *t)
{
	return t->count / t->columns_count;
}

/* Set the natural width of each column; 0 for a column that is left out. */
static void columns_measure(const struct table *t, int *widths)
{
	for (int c = 0; c < t->columns_count; c++) {
		int title = table_text_width(t->columns[c].title);

		widths[c] = title > t->extents[c].width ? title : t->extents[c].width;
		if (t->columns[c].shrink && !t->extents[c].says && rows_of(t))
			widths[c] = 0;
	}
}

/* Returns the width of all columns, with two spaces between them. */
static int total_of(const struct table *t, const int *widths)
{
	int total = -2;

	for (int c = 0; c < t->columns_count; c++)
		total += widths[c] ? widths[c] + 2 : 0;
	return total;
}

int table_needs(const struct table *t)
{
	int *widths = xcalloc(t->columns_count, sizeof(*widths)), total;

	columns_measure(t, widths);
	total = total_of(t, widths);
	free(widths);
	return total;
}

/* Narrow the columns that may be narrowed, always the widest by one screen column, until the line fits. A column gets below
 * its least width only if there is no other way, and never below LEAST. */
static void columns_narrow(const struct table *t, int *widths)
{
	enum { LEAST = 3 };
	int total = total_of(t, widths), limit = table_width();

	for (bool hard = false; limit && total > limit;) {
		int widest = -1;

		for (int c = 0; c < t->columns_count; c++) {
			int least = hard ? LEAST : t->columns[c].shrink;

			if (t->columns[c].shrink && widths[c] > least && (widest < 0 || widths[c] > widths[widest]))
				widest = c;
		}
		if (widest < 0 && hard)
			return;
		if (widest < 0) {
			hard = true;
		} else {
			widths[widest]--;
			total--;
		}
	}
}

/* A line while it is built; `gap` spaces are added before the next text. */
struct line {
	char *text;
	size_t size, room;
	int gap;
};

/* Returns the end of a line, with capacity for `size` more bytes. */
static char *line_end(struct line *line, size_t size)
{
	char *end;

	if (line->size + size >= line->room) {
		line->room = (line->size + size) * 2 + 1;
		line->text = xrealloc(line->text, line->room);
	}
	end = line->text + line->size;
	line->size += size;
	return end;
}

static void line_put(struct line *line, const char *text, size_t size)
{
	memcpy(line_end(line, size), text, size);
}

static void line_print(struct line *line, FILE *out)
{
	line_put(line, "\n", 1);
	fwrite(line->text, 1, line->size, out);
	line->size = 0;
	line->gap = 0;
}

static void colour_put(struct line *line, const char *colour)
{
	line_put(line, "\033[", 2);
	line_put(line, colour, strlen(colour));
	line_put(line, "m", 1);
}

/* Append one cell to a line, after the spaces that separate it from the cell before. */
static void cell_put(struct line *line, const char *text, int text_width, const char *colour, int width, bool right)
{
	bool cut = text_width > width;
	int fill = cut ? 0 : width - text_width;

	if (text[0]) {
		size_t spaces = (size_t)(line->gap + (right ? fill : 0));

		memset(line_end(line, spaces), ' ', spaces);
		if (colour[0])
			colour_put(line, colour);
		line_put(line, text, cut ? table_text_fit(text, width - 1) : strlen(text));
		if (cut)
			line_put(line, "~", 1);
		if (colour[0])
			colour_put(line, "0");
	}
	line->gap = (text[0] ? 0 : line->gap + (right ? fill : 0)) + (right ? 0 : fill) + 2;
}

void table_print(const struct table *t, FILE *out, bool wide)
{
	int *widths = xcalloc(t->columns_count, sizeof(*widths));
	struct line line = {0};
	bool colours = table_colours();

	columns_measure(t, widths);
	if (!wide)
		columns_narrow(t, widths);
	for (int c = 0; c < t->columns_count; c++)
		if (widths[c])
			cell_put(&line, t->columns[c].title, table_text_width(t->columns[c].title), colours ? "1" : "", widths[c],
				 t->columns[c].right);
	if (line.size)
		line_print(&line, out);
	line.gap = 0;
	for (size_t r = 0; r < rows_of(t); r++) {
		for (int c = 0; c < t->columns_count; c++) {
			const struct cell *cell = cell_at(t, r, c);

			if (widths[c])
				cell_put(&line, t->texts + cell->text, cell->width, colours ? cell->colour : "", widths[c],
					 t->columns[c].right);
		}
		line_print(&line, out);
	}
	free(line.text);
	free(widths);
}
