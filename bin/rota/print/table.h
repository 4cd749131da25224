/* table.h - columns that fit the terminal, as wide as it takes where there is none; colours on a terminal only. */
#ifndef ROTA_BIN_TABLE_H
#define ROTA_BIN_TABLE_H

#include <stdbool.h>
#include <stdio.h>

struct table;

struct table_column {
	const char *title;
	bool right; /* numbers */
	int shrink; /* how far it may be narrowed to make the line fit: its least width; 0 = never narrowed */
};

/* A table of `count` columns; the caller keeps `columns`. */
struct table *table_new(const struct table_column *columns, int count);
void table_free(struct table *t);

/* Append a cell (copied), left to right, row by row; `colour` is an SGR number as text, "" for none. */
void table_cell(struct table *t, const char *text);
void table_cell_coloured(struct table *t, const char *text, const char *colour);

/* Print titles, if any, and rows. `wide`: as wide as it takes. Columns whose every cell is empty or "-" and that can shrink are left
 * out. */
void table_print(const struct table *t, FILE *out, bool wide);

/* How wide the lines are where nothing is cut. */
int table_needs(const struct table *t);

/* $COLUMNS, or the columns of the terminal behind standard output (80 where it does not say); 0: no terminal, so no limit. */
int table_width(void);

/* Whether standard output takes colours (a terminal, and no NO_COLOR). */
bool table_colours(void);

/* Screen columns of a UTF-8 text, and how many bytes of it fit in `width` of them. */
int table_text_width(const char *text);
size_t table_text_fit(const char *text, int width);

#endif
