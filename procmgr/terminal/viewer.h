/* viewer.h - clients that are attached to a terminal. */
#ifndef ROTA_PROCMGR_VIEWER_H
#define ROTA_PROCMGR_VIEWER_H

#include <event2/event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "procmgr/terminal/screen.h"

struct viewer_handlers {
	/* passes keys to the program; returns false if the program has so much unread input that no more should be passed */
	bool (*input)(const char *bytes, size_t size);
	void (*size)(int rows, int cols);
	void (*room)(void); /* called when a client has taken all of its queue */
};

struct viewer_set;

struct viewer_set *viewer_set_new(struct event_base *base, const struct viewer_handlers *handlers);
void viewer_set_free(struct viewer_set *set); /* closes all connections */
void viewer_set_screen(struct viewer_set *set, struct screen *screen);

/* Serve a connected socket. */
void viewer_add(struct viewer_set *set, int fd);

/* Show output of the program, which the screen has already, to all clients. */
void viewer_send_live(struct viewer_set *set, const char *bytes, size_t size);
void viewer_send_line(struct viewer_set *set, const char *text, size_t size);
/* The size of the screen has changed. */
void viewer_send_screen(struct viewer_set *set);
/* When a client last sent keys and the program last wrote, by clock_boot_us; 0: never. Clients that monitor the terminal get it. */
void viewer_send_activity(struct viewer_set *set, int64_t key_at, int64_t output_at);
/* The program reads again. */
void viewer_resume_input(struct viewer_set *set);
/* The program has ended: send each client the rest and the frame `e`, also those that come from now on. */
void viewer_end(struct viewer_set *set);

/* Returns for how long the program should write nothing, unless the handler `room` is called before: until then a client may have taken
 * its queue. 0: it may write. */
int64_t viewer_pace_usec(const struct viewer_set *set);

bool viewer_any_live(const struct viewer_set *set);
bool viewer_any(const struct viewer_set *set);
bool viewer_was_any(const struct viewer_set *set); /* has a client ever attached, besides those that monitor the terminal? */

#endif
