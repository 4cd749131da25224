/* lead_scan_limit.h - how far into the queue the next pass looks.
 *
 * To look at all that a pass may look at (schedule.depth) and to plan it takes long where the queue is long, and is rarely what
 * starts the next step: most starts are at the head. So, where the queue is longer than its head, a whole pass is run no more often than
 * takes a tenth of the time, and quick ones, which look at the head alone, in between. What always holds: both see the head of each
 * partition's queue in its order, and quick ones, where there are several, with those in it that may hold a reservation; so a quick
 * pass starts nothing that a whole one would not; what only a whole one finds is found by the next, which is never left out. */
#ifndef ROTA_LEAD_SCAN_LIMIT_H
#define ROTA_LEAD_SCAN_LIMIT_H

#include <stdbool.h>
#include <stddef.h>

struct lead_scan_limit {
	double full_took; /* seconds that the last whole pass spent on looking and planning */
	double full_at;	  /* when it ended; monotonic seconds, as all times here */
	double since;	  /* when the present stage of looking or planning began */
	double took;	  /* those before it */
	size_t started;	  /* steps that the last pass started */
	size_t reserving; /* steps of a partition that hold up those of others, while they wait */
	size_t seen;	  /* rows that the last whole pass found */
	bool full;	  /* the running pass */
	int rows;	  /* how many it looks at of each partition, at the most */
};

/* A pass begins: whole or quick? At most `most` rows of each partition; `holders` of them, where there are several, may hold reservations. */
void lead_scan_limit_begin(struct lead_scan_limit *limit, int most, int reserving, double now);

/* A stage of looking or planning begins, ends. */
void lead_scan_limit_resume(struct lead_scan_limit *limit, double now);
void lead_scan_limit_pause(struct lead_scan_limit *limit, double now);

/* The pass found so many rows. */
void lead_scan_limit_note_rows(struct lead_scan_limit *limit, size_t rows);

/* The pass has ended, having started so many. */
void lead_scan_limit_end(struct lead_scan_limit *limit, size_t started, double now);

/* After a pass: seconds until a whole one is due to see what it did not, INFINITY: it has seen all. */
double lead_scan_limit_full_in(const struct lead_scan_limit *limit, double now);

#endif
