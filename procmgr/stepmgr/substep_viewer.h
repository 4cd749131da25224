/* substep_viewer.h - a reader's connection to the terminal of a sub-step with `pty` (procmgr/terminal/), on whatever node. */
#ifndef ROTA_PROCMGR_SUBSTEP_VIEWER_H
#define ROTA_PROCMGR_SUBSTEP_VIEWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "procmgr/stepmgr/substep.h"
#include "procmgr/stepmgr/substep_terminal.h"

struct substep_viewer;

struct substep_viewer_handlers {
	bool (*has_room)(void *arg); /* may more output come? */
	void (*output)(void *arg, const void *bytes, size_t size);
	void (*window)(void *arg, int rows, int cols);
	void (*ended)(void *arg); /* called when the terminal has sent its last frame, or can no longer be reached */
	/* reports when a key was last typed and output last written, by clock_boot_us(), 0: never; NULL: the caller does not
	 * ask */
	void (*activity)(void *arg, int64_t key_at, int64_t output_at);
};

/* Connect to the terminal of a running sub-step, as soon as the terminal listens. */
struct substep_viewer *substep_viewer_open(struct substep *s, const struct substep_view *view,
					   const struct substep_viewer_handlers *handlers, void *arg);
/* Connect to the terminal with this name on this node, as soon as it listens. */
struct substep_viewer *substep_viewer_new(struct event_base *base, const char *name, const struct substep_view *view,
					  const struct substep_viewer_handlers *handlers, void *arg);
void substep_viewer_free(struct substep_viewer *v);

/* Is the terminal connected, and has a frame come from it? */
bool substep_viewer_is_current(const struct substep_viewer *v);
/* Called when the sub-step has ended: may more frames come from its terminal? */
bool substep_viewer_may_come(const struct substep_viewer *v);

void substep_viewer_input(struct substep_viewer *v, const void *bytes, size_t size);
/* Show text to the people who see the terminal live. The text does not become part of the terminal's screen. */
void substep_viewer_note(struct substep_viewer *v, const char *text);
void substep_viewer_resize(struct substep_viewer *v, int rows, int cols);
void substep_viewer_continue(struct substep_viewer *v); /* the reader has room for output again */

#endif
