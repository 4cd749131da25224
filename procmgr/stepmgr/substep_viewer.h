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
	void (*ended)(void *arg); /* nothing more comes */
	/* when keys were last typed and output was last written, by clock_boot_us; 0: never. NULL: not of interest */
	void (*activity)(void *arg, int64_t key_at, int64_t output_at);
};

/* Connect to the terminal of a running sub-step, as soon as it listens. */
struct substep_viewer *substep_viewer_open(struct substep *s, const struct substep_view *view,
					   const struct substep_viewer_handlers *handlers, void *arg);
/* The same for the terminal with this name on this node. */
struct substep_viewer *substep_viewer_new(struct event_base *base, const char *name, const struct substep_view *view,
					  const struct substep_viewer_handlers *handlers, void *arg);
void substep_viewer_free(struct substep_viewer *v);

/* Has it got something from the terminal, and is it still connected? */
bool substep_viewer_is_current(const struct substep_viewer *v);
/* The sub-step has ended: may more come from its terminal, or its end? */
bool substep_viewer_may_come(const struct substep_viewer *v);

void substep_viewer_input(struct substep_viewer *v, const void *bytes, size_t size);
/* Show text to the people who see the terminal live. It is not part of its screen. */
void substep_viewer_note(struct substep_viewer *v, const char *text);
void substep_viewer_resize(struct substep_viewer *v, int rows, int cols);
void substep_viewer_continue(struct substep_viewer *v); /* there is room for output again */

#endif
