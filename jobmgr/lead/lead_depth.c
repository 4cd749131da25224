/* lead_depth.c - whole and quick passes by turns, by what whole ones cost. lead_pass.c calls it. */
#include "jobmgr/lead/lead_depth.h"

#include <math.h>

static const double cheap = 0.1; /* seconds: what may not start can be long, too */

enum { SHARE = 9, ROWS_LEAST = 64 }; /* so many times as long as a whole pass took are between two */

static double due_at(const struct lead_depth *d)
{
	return d->whole_at + SHARE * d->whole_took;
}

/* Twice what the last pass started is more than the next will find room for, unless more and more start. */
static int quick_rows(const struct lead_depth *d, int most)
{
	size_t wanted = 2 * d->started + ROWS_LEAST + d->holders;

	return wanted < (size_t)most ? (int)wanted : most;
}

/* A quick pass would look at all there is, too. */
static bool is_short(const struct lead_depth *d, int most)
{
	return d->seen <= (size_t)quick_rows(d, most) && d->whole_took < cheap;
}

void lead_depth_begin(struct lead_depth *d, int most, int holders, double now)
{
	d->holders = (size_t)holders;
	d->whole = now >= due_at(d) || is_short(d, most);
	d->rows = d->whole ? most : quick_rows(d, most);
	d->took = 0;
}

void lead_depth_enter(struct lead_depth *d, double now)
{
	d->since = now;
}

void lead_depth_leave(struct lead_depth *d, double now)
{
	d->took += now - d->since;
}

void lead_depth_found(struct lead_depth *d, size_t rows)
{
	if (d->whole)
		d->seen = rows;
}

void lead_depth_end(struct lead_depth *d, size_t started, double now)
{
	d->started = started;
	if (!d->whole)
		return;
	d->whole_took = d->took;
	d->whole_at = now;
}

double lead_depth_due_in(const struct lead_depth *d, double now)
{
	if (d->whole)
		return INFINITY;
	return due_at(d) > now ? due_at(d) - now : 0;
}
