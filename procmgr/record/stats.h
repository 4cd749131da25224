/* stats.h - the resource usage of a process and of the children that the process waited for. */
#ifndef ROTA_PROCMGR_STATS_H
#define ROTA_PROCMGR_STATS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct stats {
	int64_t user_usec, system_usec;
	int64_t max_rss_kb; /* largest resident memory of any of the processes, in KiB */
	int64_t minflt, majflt;
	int64_t rchar, wchar;		 /* bytes of read and write calls on any file; -1 if unknown (proc(5), /proc/PID/io) */
	int64_t read_bytes, write_bytes; /* bytes from and to storage; -1 if unknown */
	int64_t nvcsw, nivcsw;
};

/* Open the byte counts (/proc/PID/io) of a child that was just forked. Returns the descriptor, or -1 if it cannot be opened.
 * After the child has ended, only root could open the file. */
int stats_open(pid_t pid);

/* Reap the ended child `pid`, and return its wait status and its resource usage. Closes `counts`, which stats_open returned.
 * Returns false if `pid` is not a child. */
bool stats_reap(pid_t pid, int counts, int *status, struct stats *stats);

/* Returns the start time of a process in clock ticks since the boot (proc(5), field 22 of /proc/PID/stat), or -1. Works for an ended
 * process until it is reaped. */
int64_t stats_start_time(pid_t pid);

/* Returns the start time, as stats_start_time() does, of a process that was made between two times of clock_boot_ns(). Reads
 * no file unless a clock tick may have begun between the two times. */
int64_t stats_start_time_between(pid_t pid, int64_t before, int64_t after);

/* Read the wait status and the resource usage of an ended child without reaping it. Closes `counts`, which stats_open
 * returned. Returns false if `pid` is no ended child. */
bool stats_peek(pid_t pid, int counts, int *status, struct stats *stats);

/* Returns the pid of a child that has ended and is not reaped, or 0 if there is none. The caller reaps it before it asks again. */
pid_t stats_ended_child(void);

/* Add all figures of one process to a sum; max_rss_kb becomes the larger one. Bytes that are unknown in one are unknown in the
 * sum. */
void stats_sum(struct stats *sum, const struct stats *one);

/* Add only the CPU times of one process to a sum; max_rss_kb becomes the larger one. */
void stats_add(struct stats *sum, const struct stats *one);

#endif
