/* watch.h - for how long has the database's clock run as steadily as ours? All times in microseconds. */
#ifndef ROTA_NODEMGR_WATCH_H
#define ROTA_NODEMGR_WATCH_H

#include <stdbool.h>
#include <stdint.h>

/* All 0: it was not read yet. */
struct watch {
	int64_t since;	 /* by our clock */
	int64_t read_at; /* by ours: when it was read last, at the earliest */
	int64_t clock;	 /* what it said */
};

/* What it may say at most at the time `now` of ours, unless it is set forward. */
int64_t watch_latest(const struct watch *w, int64_t now);

/* It said `clock`, in answer to what was sent at `sent` and heard at `now`. False where it was set forward: the watch begins anew. */
bool watch_read(struct watch *w, int64_t clock, int64_t sent, int64_t now);

/* Whole seconds of steadiness at the time `now`. */
int watch_seconds(const struct watch *w, int64_t now);

#endif
