/* picture.h - draws a job on a terminal, with its steps in order of the DAG, and redraws it in place. Draws other text, such
 * as tables, in the same way. */
#ifndef ROTA_BIN_PICTURE_H
#define ROTA_BIN_PICTURE_H

#include <jansson.h>

/* Draw a job of a `show` answer over the picture drawn before. */
void picture_draw(const json_t *job);

/* Draw lines of text over the picture drawn before, each cut to the terminal's width. */
void picture_text(const char *text);

/* Returns how many lines a picture can have. */
int picture_room(void);

/* Begin the next picture at the cursor, because other text was written below the last picture. */
void picture_forget(void);

/* Leave the last picture on the screen and restore the terminal. Safe in a signal handler. */
void picture_leave(void);

#endif
