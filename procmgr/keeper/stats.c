/* stats.c - reads the resource usage of ended processes.
 *
 * Called by: the keeper for each task, hook and orphan.
 * Invariants: the byte counts are read before the process is reaped, when the counts are complete and the pid is not reused
 * yet. */
#include "procmgr/keeper/stats.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static int64_t find_number(const char *text, const char *word)
{
	const char *at = strstr(text, word);
	return at ? strtoll(at + strlen(word), NULL, 10) : -1;
}

int stats_open(pid_t pid)
{
	char path[64];
	snprintf(path, sizeof path, "/proc/%ld/io", (long)pid);
	return open(path, O_RDONLY | O_CLOEXEC);
}

static void read_counts(int counts, struct stats *stats)
{
	char text[512];
	ssize_t size = counts < 0 ? -1 : pread(counts, text, sizeof text - 1, 0);
	if (counts >= 0)
		close(counts);
	text[size > 0 ? size : 0] = '\0';
	stats->rchar = find_number(text, "rchar: ");
	stats->wchar = find_number(text, "wchar: ");
	stats->read_bytes = find_number(text, "\nread_bytes: ");
	stats->write_bytes = find_number(text, "\nwrite_bytes: ");
}

static int64_t to_usec(struct timeval t)
{
	return (int64_t)t.tv_sec * 1000000 + t.tv_usec;
}

bool stats_reap(pid_t pid, int counts, int *status, struct stats *stats)
{
	struct rusage used;
	read_counts(counts, stats);
	if (wait4(pid, status, 0, &used) != pid)
		return false;
	stats->user_usec = to_usec(used.ru_utime);
	stats->system_usec = to_usec(used.ru_stime);
	stats->max_rss_kb = used.ru_maxrss;
	stats->minflt = used.ru_minflt;
	stats->majflt = used.ru_majflt;
	stats->nvcsw = used.ru_nvcsw;
	stats->nivcsw = used.ru_nivcsw;
	return true;
}

void stats_add(struct stats *sum, const struct stats *one)
{
	sum->user_usec += one->user_usec;
	sum->system_usec += one->system_usec;
	if (one->max_rss_kb > sum->max_rss_kb)
		sum->max_rss_kb = one->max_rss_kb;
}
