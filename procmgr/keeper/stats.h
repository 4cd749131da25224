/* stats.h - the resource usage of a process and of the children that it waited for. */
#ifndef ROTA_PROCMGR_STATS_H
#define ROTA_PROCMGR_STATS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct stats {
	int64_t user_usec, system_usec;
	int64_t max_rss_kb; /* of the largest process */
	int64_t minflt, majflt;
	int64_t read_bytes, write_bytes; /* through read and write calls on any file; -1 = unknown */
	int64_t nvcsw, nivcsw;
};

/* Open the byte counts of a child that was just forked; -1 where there are none. After the child has ended, only root could
 * open them. */
int stats_open(pid_t pid);

/* Reap the child `pid`, which has ended: its wait status and its usage. Closes `counts`, which stats_open returned. False
 * where it is not a child. */
bool stats_reap(pid_t pid, int counts, int *status, struct stats *stats);

#endif
