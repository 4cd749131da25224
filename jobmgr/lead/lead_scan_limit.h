/* lead_scan_limit.h - how many rows of the queue a cycle reads.
 *
 * A full scan reads schedule.depth rows of each partition, which takes long, and most starts are at the head of the queue. So
 * full
 * scans take at most a tenth of the time, and short scans of the head run between them.
 * Invariants:
 *  - Both read the head of each partition's queue in order. With several partitions a short scan includes all steps that may get
 *    a
 *    backfill reservation, so it starts no step that a full scan would not.
 *  - A full scan always comes, and finds what a short one misses. */
#ifndef ROTA_LEAD_SCAN_LIMIT_H
#define ROTA_LEAD_SCAN_LIMIT_H

#include <stdbool.h>
#include <stddef.h>

struct lead_scan_limit {
	double full_took; /* seconds that the last full scan took to read and to plan */
	double full_at;	  /* when it ended; monotonic seconds, as all times here */
	double since;	  /* when the timer was resumed */
	double took;	  /* seconds before that */
	size_t started;	  /* steps that the last cycle started */
	size_t reserving; /* steps per partition that may get backfill reservations, which bind other partitions */
	size_t seen;	  /* rows that the last full scan found */
	bool full;	  /* the running cycle is a full scan */
	int rows;	  /* read at most so many of each partition */
};

/* A cycle begins: choose a full or a short scan. `most`: rows of each partition; `reserving`: 0 with one partition. */
void lead_scan_limit_begin(struct lead_scan_limit *limit, int most, int reserving, double now);

/* Resume and pause the timer of reading and planning. */
void lead_scan_limit_resume(struct lead_scan_limit *limit, double now);
void lead_scan_limit_pause(struct lead_scan_limit *limit, double now);

/* The cycle found so many rows. */
void lead_scan_limit_note_rows(struct lead_scan_limit *limit, size_t rows);

/* The cycle ended, and started so many steps. */
void lead_scan_limit_end(struct lead_scan_limit *limit, size_t started, double now);

/* After a cycle: seconds until a full scan is due, INFINITY: this was one. */
double lead_scan_limit_full_in(const struct lead_scan_limit *limit, double now);

#endif
