/* watch.c - a clock that may be set, held against one that may not.
 *
 * Called by the judge around each look. What always holds: an interval of the watched clock that lies within the watch is not longer than
 * it was by ours, but for WATCH_SLACK at each reading; a clock set back makes intervals longer than they seem, which only delays. */
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
