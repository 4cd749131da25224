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
	void (*room)(void); /* called when a client has taken its queue, so that the program need no longer wait for it */
};

struct viewer_set;

struct viewer_set *viewer_set_new(struct event_base *base, const struct viewer_handlers *handlers);
void viewer_set_free(struct viewer_set *set); /* closes all connections */
void viewer_set_screen(struct viewer_set *set, struct screen *screen);

/* Serve a new client on the connected socket `fd`. */
void viewer_add(struct viewer_set *set, int fd);

/* Send output of the program, which the screen model has already, to all live clients; the second function sends lines to those
 * that follow lines. */
void viewer_send_live(struct viewer_set *set, const char *bytes, size_t size);
void viewer_send_line(struct viewer_set *set, const char *text, size_t size);
/* Call when the size of the screen has changed: sends the whole screen to all live clients. */
void viewer_send_screen(struct viewer_set *set);
/* Set when a client last sent keys and the program last wrote, by clock_boot_us(); 0: never. Monitors of the terminal are sent
 * both times. */
void viewer_send_activity(struct viewer_set *set, int64_t key_at, int64_t output_at);
/* Call when the program reads its input again: paused clients are read again. */
void viewer_resume_input(struct viewer_set *set);
/* Call when the program has ended: sends each client, also one that comes later, the rest of the output and the frame `e`. */
void viewer_end(struct viewer_set *set);

/* Returns for how many microseconds the program's output should not be read, so that a client can take its queue. The pause ends
 * early when the handler `room` is called. 0: no pause is needed. */
int64_t viewer_pace_usec(const struct viewer_set *set);

bool viewer_any_live(const struct viewer_set *set);
bool viewer_any(const struct viewer_set *set);
bool viewer_was_any(const struct viewer_set *set); /* has a client ever attached, besides those that monitor the terminal? */

#endif
