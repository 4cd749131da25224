/* table.h - prints tables that fit the terminal. Without a terminal, lines have any width and no colours. */
#ifndef ROTA_BIN_TABLE_H
#define ROTA_BIN_TABLE_H

#include <stdbool.h>
#include <stdio.h>

struct table;

struct table_column {
	const char *title;
	bool right; /* align to the right, for numbers */
	int shrink; /* least width to which the column is narrowed to make the line fit; 0 = never narrowed */
};

/* Make a table of `count` columns. `columns` must outlive the table. */
struct table *table_new(const struct table_column *columns, int count);
void table_free(struct table *t);

/* Append a cell to the table, left to right, row by row. The text is copied. `colour` is an SGR number as text, "" for none. */
void table_cell(struct table *t, const char *text);
void table_cell_coloured(struct table *t, const char *text, const char *colour);

/* Print the titles, if any, and the rows. With `wide`, columns are not narrowed. Columns that can shrink are left out if all
 * their cells are empty or "-". */
void table_print(const struct table *t, FILE *out, bool wide);

/* Returns the width of the table's lines if no cell is cut. */
int table_needs(const struct table *t);

/* Returns $COLUMNS, or the columns of the terminal on standard output (80 if unknown). Returns 0, for no limit, without a
 * terminal. */
int table_width(void);

/* Returns whether standard output takes colours: it is a terminal and NO_COLOR is not set. */
bool table_colours(void);

/* table_text_width() returns the screen columns of a UTF-8 text. table_text_fit() returns how many of its bytes fit in `width`
 * columns. */
int table_text_width(const char *text);
size_t table_text_fit(const char *text, int width);

#endif
