/* lead_depth.h - how far into the queue the next pass looks.
 *
 * To look at all that a pass may look at (schedule.depth) and to plan it takes long where the queue is long, and is rarely what
 * starts the next step: most starts are at the head. So, where the queue is longer than its head, a whole pass is run no more often than
 * takes a tenth of the time, and quick ones, which look at the head alone, in between. What always holds: both see the head of each
 * partition's queue in its order, and quick ones, where there are several, with those in it that may hold a reservation; so a quick
 * pass starts nothing that a whole one would not; what only a whole one finds is found by the next, which is never left out. */
#ifndef ROTA_LEAD_DEPTH_H
#define ROTA_LEAD_DEPTH_H

#include <stdbool.h>
#include <stddef.h>

struct lead_depth {
	double whole_took; /* seconds that the last whole pass spent on looking and planning */
	double whole_at;   /* when it ended; monotonic seconds, as all times here */
	double since;	   /* when the present stage of looking or planning began */
	double took;	   /* those before it */
	size_t started;	   /* steps that the last pass started */
	size_t holders;	   /* steps of a partition that hold up those of others, while they wait */
	size_t seen;	   /* rows that the last whole pass found */
	bool whole;	   /* the running pass */
	int rows;	   /* how many it looks at of each partition, at the most */
};

/* A pass begins: whole or quick? At most `most` rows of each partition; `holders` of them, where there are several, may hold reservations. */
void lead_depth_begin(struct lead_depth *d, int most, int holders, double now);

/* A stage of looking or planning begins, ends. */
void lead_depth_enter(struct lead_depth *d, double now);
void lead_depth_leave(struct lead_depth *d, double now);

/* The pass found so many rows. */
void lead_depth_found(struct lead_depth *d, size_t rows);

/* The pass has ended, having started so many. */
void lead_depth_end(struct lead_depth *d, size_t started, double now);

/* After a pass: seconds until a whole one is due to see what it did not, INFINITY: it has seen all. */
double lead_depth_due_in(const struct lead_depth *d, double now);

#endif
