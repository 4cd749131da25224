/* progress.h - the progress bar of `rota run --each`, on standard error if that is a terminal. */
#ifndef ROTA_BIN_PROGRESS_H
#define ROTA_BIN_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
	bool shown; /* standard error is a terminal */
	bool drawn; /* the bar is on the screen */
	int64_t began_ms, drawn_ms;
	long total;			      /* number of all lines; 0: not known */
	long ended, failed, running, earlier; /* numbers of lines; `earlier`: completed by an earlier call */
};

void progress_begin(struct progress *p);

/* Draw the bar, at most five times a second unless `now`. Remove it before other output. */
void progress_draw(struct progress *p, bool now);
void progress_clear(struct progress *p);

#endif
