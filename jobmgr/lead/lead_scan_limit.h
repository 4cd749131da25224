/* lead_scan_limit.h - how many rows of the queue a cycle reads.
 *
 * A full scan reads schedule.depth rows of each partition, which takes long, and most steps that start are at the head of the
 * queue. So full scans take at most a tenth of the time, and short scans of the head run between them.
 * Invariants:
 *  - Full and short scans read the head of each partition's queue in order. With several partitions a short scan includes all
 *    steps that may get a backfill reservation, so it starts no step that a full scan would not.
 *  - After some time there is always a full scan, which finds what short scans miss. */
#ifndef ROTA_LEAD_SCAN_LIMIT_H
#define ROTA_LEAD_SCAN_LIMIT_H

#include <stdbool.h>
#include <stddef.h>

struct lead_scan_limit {
	double full_took; /* seconds that the last full scan took to read and to plan */
	double full_at;	  /* when the last full scan ended; monotonic seconds, as all times of this struct */
	double since;	  /* when the timer of reading and planning was resumed */
	double took;	  /* seconds that the timer ran before it was resumed */
	size_t started;	  /* number of steps that the last cycle started */
	size_t reserving; /* number of steps per partition that may get backfill reservations, which bind other partitions */
	size_t seen;	  /* number of rows of the queue that the last full scan found */
	bool full;	  /* the running cycle is a full scan */
	int rows;	  /* most rows of the queue to read of each partition */
};

/* Choose a full or a short scan for the cycle that begins. `most`: rows that a full scan reads of each partition. `reserving`:
 * steps per partition that may get backfill reservations, 0 if there is one partition. */
void lead_scan_limit_begin(struct lead_scan_limit *limit, int most, int reserving, double now);

/* Resume and pause the timer of reading and planning. */
void lead_scan_limit_resume(struct lead_scan_limit *limit, double now);
void lead_scan_limit_pause(struct lead_scan_limit *limit, double now);

/* Record the number of rows of the queue that the running cycle has read. */
void lead_scan_limit_note_rows(struct lead_scan_limit *limit, size_t rows);

/* Record that the cycle has ended, and the number of steps that it started. */
void lead_scan_limit_end(struct lead_scan_limit *limit, size_t started, double now);

/* Returns the seconds until the next full scan is due, or INFINITY if the cycle that just ended was a full scan. */
double lead_scan_limit_full_in(const struct lead_scan_limit *limit, double now);

#endif
