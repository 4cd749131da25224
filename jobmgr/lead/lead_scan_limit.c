/* lead_scan_limit.c - alternates full and short scans of the queue, by the time that full scans take.
 *
 * Called by: lead_cycle.c. */
#include "jobmgr/lead/lead_scan_limit.h"

#include <math.h>

/* Time in seconds. While a full scan takes less than this and the queue is short, there are no short scans. */
static const double cheap_s = 0.1;

enum { FULL_SHARE = 9, ROWS_LEAST = 64 }; /* FULL_SHARE: time between two full scans, as a multiple of the duration of one */

static double full_due_at(const struct lead_scan_limit *limit)
{
	return limit->full_at + FULL_SHARE * limit->full_took;
}

/* Returns the number of rows to read of each partition in a short scan: enough for twice the steps that the last cycle
 * started. */
static int short_rows(const struct lead_scan_limit *limit, int most)
{
	size_t wanted = 2 * limit->started + ROWS_LEAST + limit->reserving;

	return wanted < (size_t)most ? (int)wanted : most;
}

/* Would a short scan read the whole queue, and are full scans cheap? */
static bool queue_is_short(const struct lead_scan_limit *limit, int most)
{
	return limit->seen <= (size_t)short_rows(limit, most) && limit->full_took < cheap_s;
}

void lead_scan_limit_begin(struct lead_scan_limit *limit, int most, int reserving, double now)
{
	limit->reserving = (size_t)reserving;
	limit->full = now >= full_due_at(limit) || queue_is_short(limit, most);
	limit->rows = limit->full ? most : short_rows(limit, most);
	limit->took = 0;
}

void lead_scan_limit_resume(struct lead_scan_limit *limit, double now)
{
	limit->since = now;
}

void lead_scan_limit_pause(struct lead_scan_limit *limit, double now)
{
	limit->took += now - limit->since;
}

void lead_scan_limit_note_rows(struct lead_scan_limit *limit, size_t rows)
{
	if (limit->full)
		limit->seen = rows;
}

void lead_scan_limit_end(struct lead_scan_limit *limit, size_t started, double now)
{
	limit->started = started;
	if (!limit->full)
		return;
	limit->full_took = limit->took;
	limit->full_at = now;
}

double lead_scan_limit_full_in(const struct lead_scan_limit *limit, double now)
{
	if (limit->full)
		return INFINITY;
	return full_due_at(limit) > now ? full_due_at(limit) - now : 0;
}
