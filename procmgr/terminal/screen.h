/* screen.h - a model of a terminal's screen, from which a client that attaches late gets the same picture. */
#ifndef ROTA_PROCMGR_SCREEN_H
#define ROTA_PROCMGR_SCREEN_H

#include <event2/buffer.h>
#include <stdbool.h>
#include <stddef.h>

enum {
	SCREEN_ROWS_LEAST = 2,
	SCREEN_ROWS_MOST = 1000,
	SCREEN_COLS_LEAST = 4,
	SCREEN_COLS_MOST = 1000,
	SCREEN_LINES_MOST = 10000
};

struct screen;

struct screen_handlers {
	void (*answered)(const char *bytes, size_t size, void *arg);  /* called with the answer to a query of the program */
	void (*line_ended)(const char *text, size_t size, void *arg); /* called when a line of the normal screen is complete */
	void *arg;
};

struct screen *screen_new(int rows, int cols, const struct screen_handlers *handlers);
void screen_free(struct screen *s);

/* Change *rows and *cols to the nearest size that the model supports. */
void screen_clamp(int *rows, int *cols);
void screen_size(const struct screen *s, int *rows, int *cols);
void screen_resize(struct screen *s, int rows, int cols);

/* Take output of the program into the model. */
void screen_feed(struct screen *s, const char *bytes, size_t size);

/* Add to `out` the sequences by which any terminal of this size shows this screen, and handles further output as this one would:
 * the cells of both screens, the cursor, the modes, the title, and a sequence of which only the beginning has come. */
void screen_restore(struct screen *s, struct evbuffer *out);

/* Add to `out` the last `lines` lines of the scrollback, then the screen, as UTF-8 text. */
void screen_text(const struct screen *s, size_t lines, struct evbuffer *out);

#endif
