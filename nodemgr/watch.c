/* watch.c - compares the database's clock, which may be set, with clock_boot_us(), which cannot be set.
 *
 * Called by: judge.c before and after each poll.
 * Invariants:
 * - An interval of the database's clock since `since` is not longer than the same interval of clock_boot_us(), plus WATCH_SLACK
 *   for each reading.
 * - A clock that is set back makes intervals seem shorter, which only delays the judgement. */
#include "nodemgr/watch.h"

enum { WATCH_SLACK = 1000000 };

int64_t watch_latest(const struct watch *w, int64_t now)
{
	return w->clock + (now - w->read_at) + WATCH_SLACK;
}

bool watch_read(struct watch *w, int64_t clock, int64_t sent, int64_t now)
{
	bool jumped = w->since > 0 && clock > watch_latest(w, now);

	if (jumped || w->since == 0)
		w->since = now;
	w->clock = clock;
	w->read_at = sent;
	return !jumped;
}

int watch_seconds(const struct watch *w, int64_t now)
{
	return w->since > 0 ? (int)((now - w->since) / 1000000) : 0;
}
