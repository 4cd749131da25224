/* picture.h - a job as a picture on a terminal: its steps in order of the DAG, redrawn in place. */
#ifndef ROTA_BIN_PICTURE_H
#define ROTA_BIN_PICTURE_H

#include <jansson.h>

/* Draw a job of a `show` answer over the picture drawn before. */
void picture_draw(const json_t *job);

/* Something else was written below the last picture: the next one begins behind it. */
void picture_forget(void);

/* Leave the last picture where it is and give the terminal back; safe in a signal handler. */
void picture_leave(void);

#endif
