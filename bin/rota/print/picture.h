/* picture.h - a job as a picture on a terminal: its steps in order of the DAG, redrawn in place; or several as a table. */
#ifndef ROTA_BIN_PICTURE_H
#define ROTA_BIN_PICTURE_H

#include <jansson.h>

/* Draw a job of a `show` answer over the picture drawn before. */
void picture_draw(const json_t *job);

/* Draw lines of text over the picture drawn before, each cut to the terminal's width. */
void picture_text(const char *text);

/* How many lines a picture can have. */
int picture_room(void);

/* Something else was written below the last picture: the next one begins behind it. */
void picture_forget(void);

/* Leave the last picture where it is and give the terminal back; safe in a signal handler. */
void picture_leave(void);

#endif
