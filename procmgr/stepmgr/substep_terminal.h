/* substep_terminal.h - a connection to a rota-terminal of this node (procmgr/terminal/). */
#ifndef ROTA_PROCMGR_SUBSTEP_TERMINAL_H
#define ROTA_PROCMGR_SUBSTEP_TERMINAL_H

#include <event2/bufferevent.h>
#include <event2/event.h>

#include "lib/err.h"

/* How a viewer sees the terminal. */
struct substep_view {
	char mode; /* 'l' the screen and live bytes, 't' text, 'f' text and further lines, 'm' times of keys and output only */
	int lines; /* for the modes 't' and 'f': lines of scrollback before the screen */
};

struct substep_terminal; /* an attempt to connect to a terminal */

/* Attach to the terminal with this name, as soon as it listens. `attached` takes the stream, on which the terminal sends its frames. */
struct substep_terminal *substep_terminal_attach(struct event_base *base, const char *name, const struct substep_view *view,
						 void (*attached)(struct bufferevent *stream, void *arg), void *arg);
/* Free an attempt to connect, and end it if it has not succeeded. If `t` is NULL, does nothing. */
void substep_terminal_free(struct substep_terminal *t);

/* Write the header and the bytes of a frame. */
void substep_terminal_frame(struct evbuffer *to, char type, const void *bytes, size_t size);

#endif
