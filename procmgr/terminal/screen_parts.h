/* screen_parts.h - the object of the screen model, and the functions of its files.
 *
 * Calls go one way: screen.c (tokens into the model) calls screen_modes.c (what libvterm does not report: modes, saved cursors, the
 * normal screen behind the alternate one), which calls screen_lines.c (text of rows, scrollback). All call screen_width.c. */
#ifndef ROTA_PROCMGR_SCREEN_PARTS_H
#define ROTA_PROCMGR_SCREEN_PARTS_H

#include <stdint.h>
#include <vterm.h>

#include "procmgr/terminal/screen.h"
#include "procmgr/terminal/token.h"

/* DEC private modes, by number, that can be on or off independently. Mouse modes and mouse protocols exclude each other, so they
 * are not here. */
enum screen_switch {
	SWITCH_CURSOR_KEYS, /* 1 */
	SWITCH_REVERSE,	    /* 5 */
	SWITCH_ORIGIN,	    /* 6 */
	SWITCH_WRAP,	    /* 7 */
	SWITCH_VISIBLE,	    /* 25 */
	SWITCH_FOCUS,	    /* 1004 */
	SWITCH_WHEEL,	    /* 1007 */
	SWITCH_PASTE,	    /* 2004 */
	SWITCHES,
};

struct screen_pen {
	VTermScreenCellAttrs attrs;
	VTermColor fg, bg;
};

struct screen_saved {
	bool is_set, origin;
	VTermPos at;
	struct screen_pen pen;
};

struct screen_line {
	char *text;
	uint32_t size;
};

struct screen {
	VTerm *vt;
	VTermScreen *cells;
	VTermState *state;
	struct screen_handlers handlers;
	int rows, cols;

	bool switches[SWITCHES];
	int mouse, protocol; /* number of the DEC mode for mouse reports that is on, and of their protocol; 0: none */
	bool insert, newline, keypad, shift_out;
	char charsets[2];
	int shape, blink; /* shape of the cursor (DECSCUSR), 0: default; DEC mode 12, -1: the cursor blinks if its shape does */
	int top, bottom;  /* scroll region: first row, row after the last one */
	bool tabs[SCREEN_COLS_MOST], has_own_tabs;
	bool alternate;
	VTermScreenCell *normal;      /* cells of the normal screen while the alternate one is shown */
	struct screen_saved saved[2]; /* what DECSC saved, for the normal and the alternate screen */
	/* the last column of the row is full, and the cursor still stands on it: the next character goes to the next row */
	bool wraps_next;
	bool after_text;    /* the last token was text */
	char *title, *icon; /* NULL: none */
	char last[8];	    /* the last character, for REP */
	int last_size;

	char *part; /* a token of which only the beginning has come */
	size_t part_size;
	char skips; /* the letter of a control string that is too long, whose bytes are being dropped; '\0': none */

	struct screen_line *ring; /* scrollback: SCREEN_LINES_MOST lines */
	int ring_first, ring_count;
	size_t ring_bytes;
	int64_t pushed;	    /* lines that have ever left the screen at its top */
	int quiet;	    /* number of rows that will leave the screen next and are in the scrollback already */
	int64_t line_start; /* row in which the line that is being written begins, counted from the first row since the start */
};

/* screen_width.c */
/* Returns how many columns a character takes in libvterm: 0, 1 or 2. */
int screen_width(uint32_t c);
/* Returns how many columns the UTF-8 character at `text` takes, 1 if there is none. Stores the character's size in bytes in
 * *used. */
int screen_width_text(const char *text, size_t size, size_t *used);
int screen_width_put(uint32_t c, char text[4]); /* write a character as UTF-8; returns its size */

/* screen_lines.c */
void screen_lines_add(struct screen *s, const char *text, size_t size); /* add a line to the scrollback */
void screen_lines_clear(struct screen *s);
void screen_lines_row(const struct screen *s, int row, struct evbuffer *out); /* text of a row of the screen, without a newline */
void screen_lines_pushed(struct screen *s, int cols, const VTermScreenCell *cells);
/* Report by handlers.line_ended the line that ends in this row of the screen. */
void screen_lines_end(struct screen *s, int row);

/* screen_modes.c */
void screen_modes_reset(struct screen *s); /* set the modes of a new terminal */
void screen_modes_write(struct screen *s, const char *format, ...) __attribute__((format(printf, 2, 3))); /* write to libvterm */
void screen_modes_control(struct screen *s, char control);
void screen_modes_escape(struct screen *s, const char *bytes, size_t size);
void screen_modes_csi(struct screen *s, const char *bytes, size_t size);
void screen_modes_string(struct screen *s, const char *bytes, size_t size);
void screen_modes_resize(struct screen *s, int rows, int cols);
void screen_modes_place(struct screen *s, VTermPos at); /* move the cursor, in spite of the origin mode */
VTermPos screen_modes_cursor(const struct screen *s);
void screen_modes_pen(const struct screen *s, struct screen_pen *pen);
/* Write the SGR sequences that set a pen. Returns their size. */
int screen_modes_sgr(const struct screen_pen *pen, char text[128]);
/* Returns how many columns the character in a cell takes: 0 if the cell is empty, or has half of a wide character that was
 * written over. */
int screen_modes_width(const VTermScreenCell *row, int cols, int col);
/* The number of the DEC private mode of each switch. */
extern const int screen_switch_modes[SWITCHES];

#endif
