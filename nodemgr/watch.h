/* watch.h - how long has the database's clock run as steadily as ours? All times are in microseconds. */
#ifndef ROTA_NODEMGR_WATCH_H
#define ROTA_NODEMGR_WATCH_H

#include <stdbool.h>
#include <stdint.h>

/* All 0: the clock was not read yet. */
struct watch {
	int64_t since;	 /* start of the steady time, by our clock */
	int64_t read_at; /* earliest time of the last reading, by our clock */
	int64_t clock;	 /* the last reading */
};

/* The latest time that the database's clock can have at our time `now`, unless it is set forward. */
int64_t watch_latest(const struct watch *w, int64_t now);

/* The answer to a call sent at `sent` and received at `now` had the time `clock`. False: the clock was set forward, and the steady time starts
 * again. */
bool watch_read(struct watch *w, int64_t clock, int64_t sent, int64_t now);

/* Whole seconds of the steady time until `now`. */
int watch_seconds(const struct watch *w, int64_t now);

#endif
