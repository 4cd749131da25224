/* stats.h - what a process and the children it waited for have used. */
#ifndef ROTA_PROCMGR_STATS_H
#define ROTA_PROCMGR_STATS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct stats {
	int64_t user_usec, system_usec;
	int64_t max_rss_kb; /* of the largest of them */
	int64_t minflt, majflt;
	int64_t read_bytes, write_bytes; /* through read and write calls, from wherever; -1 = not known */
	int64_t nvcsw, nivcsw;
};

/* A descriptor on the byte counts of a child that has just been forked, -1 where there are none. While it runs, we may open
 * them; when it has ended, only root may. */
int stats_open(pid_t pid);

/* Take the end of the child `pid`, which has ended: its wait status and its figures; `counts` is what stats_open gave and is
 * closed. False where it is none of ours. */
bool stats_reap(pid_t pid, int counts, int *status, struct stats *stats);

#endif
