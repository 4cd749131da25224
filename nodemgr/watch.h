/* watch.h - measures how long the database's clock has run as steadily as this machine's. All times are in microseconds. */
#ifndef ROTA_NODEMGR_WATCH_H
#define ROTA_NODEMGR_WATCH_H

#include <stdbool.h>
#include <stdint.h>

/* Readings of the database's clock. All members are 0 before the first reading. */
struct watch {
	int64_t since;	 /* start of the database clock's steady time, by clock_boot_us() */
	int64_t read_at; /* earliest time of the last reading, by clock_boot_us() */
	int64_t clock;	 /* the last reading of the database's clock */
};

/* Returns the latest time that the database's clock can have when clock_boot_us() is `now`, unless that clock is set forward. */
int64_t watch_latest(const struct watch *w, int64_t now);

/* Store the time `clock` of the database's clock, from the answer to a call sent at `sent` and received at `now`. Returns false
 * if the clock was set forward; the steady time then starts again. */
bool watch_read(struct watch *w, int64_t clock, int64_t sent, int64_t now);

/* Returns the whole seconds for which the database's clock has run steadily until `now`. */
int watch_seconds(const struct watch *w, int64_t now);

#endif
