/* stats.c - reads the resource usage of ended processes.
 *
 * Called by: the keeper for each task, hook and orphan; the step manager for each task.
 * Invariants: the byte counts are read before the process is reaped, when the counts are complete and the pid is not reused
 * yet. */
#include "procmgr/record/stats.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/proc_file.h"

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
	stats->rchar = proc_file_number(text, "rchar:");
	stats->wchar = proc_file_number(text, "wchar:");
	stats->read_bytes = proc_file_number(text, "read_bytes:");
	stats->write_bytes = proc_file_number(text, "write_bytes:");
}

static int64_t to_usec(struct timeval t)
{
	return (int64_t)t.tv_sec * 1000000 + t.tv_usec;
}

static void set_usage(struct stats *stats, const struct rusage *used)
{
	stats->user_usec = to_usec(used->ru_utime);
	stats->system_usec = to_usec(used->ru_stime);
	stats->max_rss_kb = used->ru_maxrss;
	stats->minflt = used->ru_minflt;
	stats->majflt = used->ru_majflt;
	stats->nvcsw = used->ru_nvcsw;
	stats->nivcsw = used->ru_nivcsw;
}

bool stats_reap(pid_t pid, int counts, int *status, struct stats *stats)
{
	struct rusage used;
	read_counts(counts, stats);
	if (wait4(pid, status, 0, &used) != pid)
		return false;
	set_usage(stats, &used);
	return true;
}

/* The system call waitid has a parameter for the resource usage; waitid() of the C library does not (waitid(2)). */
bool stats_peek(pid_t pid, int counts, int *status, struct stats *stats)
{
	struct rusage used;
	siginfo_t info = {.si_pid = 0};
	read_counts(counts, stats);
	if (syscall(SYS_waitid, P_PID, pid, &info, WEXITED | WNOHANG | WNOWAIT, &used) < 0 || info.si_pid != pid)
		return false;
	set_usage(stats, &used);
	/* Encode the wait status as wait4 does. */
	*status = info.si_code == CLD_EXITED ? (info.si_status & 0xff) << 8
					     : info.si_status | (info.si_code == CLD_DUMPED ? 0x80 : 0);
	return true;
}

pid_t stats_ended_child(void)
{
	siginfo_t info = {.si_pid = 0};
	return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 ? info.si_pid : 0;
}

static int64_t add_known(int64_t a, int64_t b)
{
	return a < 0 || b < 0 ? -1 : a + b;
}

void stats_sum(struct stats *sum, const struct stats *one)
{
	stats_add(sum, one);
	sum->minflt += one->minflt;
	sum->majflt += one->majflt;
	sum->rchar = add_known(sum->rchar, one->rchar);
	sum->wchar = add_known(sum->wchar, one->wchar);
	sum->read_bytes = add_known(sum->read_bytes, one->read_bytes);
	sum->write_bytes = add_known(sum->write_bytes, one->write_bytes);
	sum->nvcsw += one->nvcsw;
	sum->nivcsw += one->nivcsw;
}

int64_t stats_start_time(pid_t pid)
{
	char text[1024];
	long long started = -1;
	proc_file_read(pid, "stat", text, sizeof text);
	const char *fields = proc_file_stat(text);
	if (fields)
		sscanf(fields, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %lld", &started);
	return started;
}

int64_t stats_start_time_between(pid_t pid, int64_t before, int64_t after)
{
	/* The clock of the kernel and the one that the C library reads (clock_gettime) may differ by this much. */
	enum { MARGIN_NS = 1000 };
	int64_t tick = INT64_C(1000000000) / sysconf(_SC_CLK_TCK), started = (before - MARGIN_NS) / tick;
	return (after + MARGIN_NS) / tick == started ? started : stats_start_time(pid);
}

void stats_add(struct stats *sum, const struct stats *one)
{
	sum->user_usec += one->user_usec;
	sum->system_usec += one->system_usec;
	if (one->max_rss_kb > sum->max_rss_kb)
		sum->max_rss_kb = one->max_rss_kb;
}
